import APNSDevice
import Foundation
import HTTPAPI
import PrivateFiles

#if os(Linux)
    // Swift takes `struct stat` to be of this module, because its headers may be the first that include it.
    import CDispatch
#endif

// The agent's own files, its socket and the manifests.
extension Doctor {
    /// With less room, the queues of a few apps do not fit (``AgentLimits/queuedBytes``).
    private static let leastFreeBytes: UInt64 = 32 << 20

    func state() -> Finding {
        let folder = settings.folder
        var status = stat()
        guard stat(folder, &status) == 0 else {
            guard errno == ENOENT else { return unreadable(.state, folder) }
            let parent = Self.parent(of: folder)
            guard FileManager.default.fileExists(atPath: parent) else {
                return Finding(
                    .state, .fault, "The folder \(folder) is not there, nor the one that it would be in.",
                    "Make \(parent), or correct --state.")
            }
            guard access(parent, W_OK) == 0 else {
                return Finding(
                    .state, .fault, "The folder \(folder) is not there, and this user cannot make it.",
                    "As root: install -d -m 700 -o USER \(folder), with the agent's user.")
            }
            return Finding(
                .state, .warning, "The folder \(folder) is not there yet.", "The agent makes it at its start.")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            return Finding(.state, .fault, "\(folder) is not a folder.", "Correct --state, or move the file away.")
        }
        guard status.st_mode & 0o077 == 0 else {
            return Finding(
                .state, .fault, "Other users can use the folder \(folder), which has the device's key.",
                "chmod 700 \(folder)")
        }
        guard geteuid() == 0 || status.st_uid == geteuid() else { return unreadable(.state, folder) }
        for name in ["identity.pem", "agent.sqlite"] {
            guard let owner = Self.owner(of: folder + "/" + name), owner != status.st_uid else { continue }
            return Finding(
                .state, .fault, "\(folder)/\(name) belongs to the user \(owner), and the folder to \(status.st_uid).",
                "chown -R \(status.st_uid) \(folder)")
        }
        let database = folder + "/agent.sqlite"
        if let handle = try? Files.open(database, O_RDONLY) {
            let begin = try? Files.read(handle, upTo: 16, of: database)
            guard begin.map({ $0.isEmpty || $0 == Array("SQLite format 3\0".utf8) }) == true else {
                return Finding(
                    .state, .fault, "\(database) is damaged.",
                    "Restart the agent, which puts it aside and begins with an empty one; apps register again.")
            }
        } else if FileManager.default.fileExists(atPath: database) {
            return unreadable(.state, database)
        }
        var disk = statvfs()
        if statvfs(folder, &disk) == 0 {
            // fits: C's unsigned long
            let (free, overflow) = UInt64(disk.f_bavail).multipliedReportingOverflow(by: UInt64(disk.f_frsize))
            if !overflow, free < Self.leastFreeBytes {
                let isFull = free < 1 << 20
                return Finding(
                    .state, isFull ? .fault : .warning, "The disk of \(folder) has \(free >> 20) MiB left.",
                    "Make room: the agent acknowledges nothing that it cannot store.")
            }
            if disk.f_flag & UInt(ST_RDONLY) != 0 {
                return Finding(.state, .fault, "The disk of \(folder) is read-only.", "Mount it for writing.")
            }
        }
        if FileManager.default.fileExists(atPath: database + ".damaged") {
            return Finding(
                .state, .warning, "An earlier database was damaged: \(database).damaged.",
                "Look at the disk, then remove this file.")
        }
        return Finding(.state, .ok, "The folder \(folder) is private and has room.")
    }

    private func unreadable(_ check: Finding.Check, _ path: String) -> Finding {
        Finding(check, .fault, "\(path) cannot be read by this user.", "Run this as root or as the agent's user.")
    }

    private static func parent(of path: String) -> String { (path as NSString).deletingLastPathComponent }

    // MARK: The identity

    /// - Returns: the identity that the agent has or would take; nil if there is none.
    func ownIdentity() throws(DeviceError) -> DeviceIdentity? {
        let paths = [settings.ownIdentityFile] + [settings.identityFile].compactMap(\.self)
        for path in paths where access(path, F_OK) == 0 || errno != ENOENT { return try DeviceIdentity(path: path) }
        return nil
    }

    func identity(_ found: Result<DeviceIdentity?, DeviceError>, _ service: Service) -> Finding {
        let other = "Give the agent another activation code: carillon device invite makes one."
        let identity: DeviceIdentity
        switch found {
        case .failure(let error):
            return Finding(.identity, .fault, error.cause, "Remove the file, or restore it. " + other)
        case .success(nil): return missingIdentity()
        case .success(let present?): identity = present
        }
        do throws(DeviceError) {
            try identity.check()
        } catch {
            return Finding(.identity, .fault, error.cause, other)
        }
        let name = "The device \(identity.deviceID) (\(identity.environment.rawValue))"
        if let refusal = service.refusal, refusal.reason != "BadCertificateEnvironment" {
            return Finding(.identity, .fault, "\(name) is refused: \(refusal.cause)", other)
        }
        guard let validity = identity.validity else {
            return Finding(.identity, .fault, "\(name) has a certificate that cannot be read.", other)
        }
        let end = Self.text(validity.end)
        guard now <= validity.end else {
            return Finding(.identity, .fault, "\(name) has a certificate that ended at \(end).", other)
        }
        guard now >= validity.start else {
            return Finding(
                .identity, .warning, "\(name) has a certificate of the future, by this machine's clock.",
                "Set the clock.")
        }
        if let renewal = identity.renewalDate, now > renewal {
            return Finding(
                .identity, .warning, "\(name) has a certificate that ends at \(end) and was not renewed.",
                "Let the agent connect: it renews the certificate then.")
        }
        return Finding(.identity, .ok, "\(name) has a certificate until \(end).")
    }

    private func missingIdentity() -> Finding {
        if let file = settings.identityFile {
            return Finding(
                .identity, .fault, "There is no identity at \(file).",
                "Make one: carillon device activate --out \(file)")
        }
        do throws(AgentError) {
            if let code = try settings.currentCode() {
                if let cause = AgentIdentity.refusal(of: code, settings) {
                    return Finding(
                        .identity, .fault,
                        "There is no identity, and the service has refused the activation code. \(cause)",
                        "Give the agent another activation code: carillon device invite makes one.")
                }
                return Finding(
                    .identity, .warning, "There is no identity yet, but an activation code.",
                    "Start the agent: it activates the device.")
            }
        } catch {
            return Finding(
                .identity, .fault, "There is no identity. \(error.cause)",
                "Write an activation code to the file: carillon device invite makes one.")
        }
        guard settings.environment == .development else {
            return Finding(
                .identity, .fault, "There is no identity, and no activation code.",
                "Give the agent a code with --code-file: carillon device invite --environment production makes one.")
        }
        return Finding(
            .identity, .warning, "There is no identity yet, and no activation code.",
            "In development a device on the service's machine needs none. On others, give the agent one with --code-file."
        )
    }

    // MARK: The socket

    func socket() async -> Finding {
        let path = settings.socket
        if let running {
            let cause = running.cause.map { " \($0)" } ?? ""
            switch running.connection {
            case "connected", "connecting":
                return Finding(.socket, .ok, "An agent answers at \(path): \(running.connection).")
            default:
                return Finding(
                    .socket, .warning, "An agent answers at \(path): \(running.connection).\(cause)",
                    "The other lines say why it is not connected.")
            }
        }
        let limit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
        guard path.utf8.count <= limit else {
            return Finding(
                .socket, .fault,
                "The socket's path \(path) has \(path.utf8.count) bytes, and the system allows \(limit).",
                "Choose a shorter one for --socket.")
        }
        let folder = Self.parent(of: path)
        var status = stat()
        guard stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            return Finding(
                .socket, .fault, "The folder of the socket is not there: \(folder).",
                "As root: install -d -m 755 -o USER \(folder), with the agent's user; a unit makes it with RuntimeDirectory=."
            )
        }
        guard status.st_mode & 0o001 != 0 else {
            return Finding(
                .socket, .warning, "Apps of other users cannot reach the socket: they may not enter \(folder).",
                "chmod o+x \(folder)")
        }
        guard lstat(path, &status) == 0 else {
            return Finding(.socket, .warning, "No agent answers at \(path).", "Start the agent.")
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            return Finding(.socket, .fault, "\(path) exists and is not a socket.", "Move it away, or change --socket.")
        }
        guard status.st_uid == agentUser || agentUser == 0 else {
            return Finding(
                .socket, .fault, "The socket \(path) belongs to the user \(status.st_uid), and not to the agent's.",
                "rm \(path)")
        }
        return Finding(.socket, .warning, "No agent answers at \(path), where one has listened.", "Start the agent.")
    }

    // MARK: The manifests

    func readManifests() -> ManifestFolder.Contents {
        ManifestFolder(path: settings.manifests, agentUser: agentUser).read()
    }

    func manifests() -> Finding {
        let contents = readManifests()
        if let first = contents.refused.first {
            let more = contents.refused.count > 1 ? " (and \(contents.refused.count - 1) more)" : ""
            guard first.file != settings.manifests || FileManager.default.fileExists(atPath: settings.manifests) else {
                return Finding(
                    .manifests, .fault, "The folder \(settings.manifests) is not there, so no program can be an app.",
                    "Make it, or name another one with --apps.")
            }
            return Finding(
                .manifests, .fault, "\(first.file) is not used\(more): \(first.cause)",
                "Correct the file; its own page is docs/device-agent.md.")
        }
        for (bundleID, manifest) in contents.manifests.sorted(by: { $0.key < $1.key }) {
            if let program = manifest.exec.first, access(program, X_OK) != 0 {
                return Finding(
                    .manifests, .fault,
                    "The command of \(bundleID) cannot be run: \(program): \(String(cString: strerror(errno))).",
                    "Install the program, or correct exec in its manifest.")
            }
        }
        guard !contents.manifests.isEmpty else {
            return Finding(
                .manifests, .warning, "\(settings.manifests) has no manifest, so no program can be an app.",
                "Write one: {\"bundleID\": \"com.example.app\", \"user\": \"USER\"}")
        }
        return Finding(
            .manifests, .ok, "\(contents.manifests.count) of \(contents.manifests.count) manifests can be used.")
    }
}
