import Foundation
import PrivateFiles
import Storage

#if os(Linux)
    // Swift takes `struct stat` to be of this module, because its headers may be the first that include it.
    import CDispatch
#endif

/// The folder with the manifests, `apps.d`. Whoever can write there decides who may be which app. So the folder and its
/// files have to belong to root or to the agent's user, and nobody else may write to them.
struct ManifestFolder: Sendable {
    /// What the folder has.
    struct Contents: Sendable, Hashable {
        /// The manifests by their bundle IDs.
        var manifests: [String: Manifest] = [:]
        /// The files that are not used, and why.
        var refused: [Refused] = []
        /// Whether the folder is there and could not be read, for example because too many files are open.
        var isUnread = false
    }

    struct Refused: Sendable, Hashable {
        let file: String
        let cause: String
    }

    let path: String
    /// The user that the agent runs as.
    let agentUser: UInt32

    /// Reads all manifests. A file that cannot be used does not affect the others.
    func read(names: some AccountNames = SystemAccounts()) -> Contents {
        var contents = Contents()
        do throws(Manifest.Refusal) {
            let folder = try open(path, O_RDONLY | O_DIRECTORY)
            try checkOwner(of: folder)
            for name in try fileNames(of: folder) {
                do throws(Manifest.Refusal) {
                    guard contents.manifests.count < AgentLimits.manifests else {
                        throw Manifest.Refusal(cause: "There are more than \(AgentLimits.manifests) manifests.")
                    }
                    let manifest = try Manifest(try text(path + "/" + name), names: names, agentUser: agentUser)
                    guard contents.manifests[manifest.bundleID] == nil else {
                        throw Manifest.Refusal(cause: "Another manifest has the bundle ID \(manifest.bundleID).")
                    }
                    contents.manifests[manifest.bundleID] = manifest
                } catch {
                    contents.refused.append(Refused(file: path + "/" + name, cause: error.cause))
                    contents.isUnread = contents.isUnread || error.isUnread
                }
            }
        } catch {
            contents.refused.append(Refused(file: path, cause: error.cause))
            contents.isUnread = error.isUnread
        }
        return contents
    }

    private func fileNames(of folder: Descriptor) throws(Manifest.Refusal) -> [String] {
        do {
            return try Files.fileNames(inFolder: path).filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }.sorted()
        } catch {
            throw Manifest.Refusal(cause: error.cause, isUnread: true)
        }
    }

    private func text(_ path: String) throws(Manifest.Refusal) -> [UInt8] {
        // Without O_NONBLOCK, opening a pipe would wait for a writer.
        let file = try open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        try checkOwner(of: file)
        var status = stat()
        guard fstat(file.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Manifest.Refusal(cause: "It is not a file.")
        }
        do {
            let bytes = try Files.read(file, upTo: AgentLimits.manifestBytes + 1, of: path)
            guard bytes.count <= AgentLimits.manifestBytes else {
                throw Manifest.Refusal(cause: "It has more than \(AgentLimits.manifestBytes) bytes.")
            }
            return bytes
        } catch let error as Manifest.Refusal {
            throw error
        } catch {
            throw Manifest.Refusal(cause: "It cannot be read.")
        }
    }

    private func open(_ path: String, _ flags: CInt) throws(Manifest.Refusal) -> Descriptor {
        do {
            return try Files.open(path, flags)
        } catch {
            let code = errno
            // These say nothing about what is there.
            let isUnread = [EMFILE, ENFILE, ENOMEM, EIO].contains(code)
            throw Manifest.Refusal(
                cause: code == ELOOP ? "It is a symbolic link; put the file itself here." : error.cause,
                isUnread: isUnread || flags & O_DIRECTORY != 0 && code != ENOENT && code != ENOTDIR)
        }
    }

    private func checkOwner(of file: Descriptor) throws(Manifest.Refusal) {
        var status = stat()
        guard fstat(file.number, &status) == 0 else { throw Manifest.Refusal(cause: "It cannot be read.") }
        guard status.st_uid == 0 || status.st_uid == agentUser else {
            throw Manifest.Refusal(
                cause: "It belongs to the user \(status.st_uid); it has to belong to root or to the agent's user.")
        }
        guard status.st_mode & 0o022 == 0 else {
            throw Manifest.Refusal(cause: "Others than its owner may write to it: chmod go-w.")
        }
    }
}
