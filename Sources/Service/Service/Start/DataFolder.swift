import Connections
import Credentials
import Foundation
import NIOCore
import NIOSSL
import PrivateFiles
import SQLiteStore
import Storage

/// The folder with everything that the service keeps. It also contains the files with which commands find the running
/// service.
package struct DataFolder: Sendable {
    /// An absolute path.
    package let path: String

    /// - Parameter path: an absolute path, or one relative to the working directory. `~` stands for the home folder.
    package init(_ path: String) { self.init(path, isTemporary: false) }

    private init(_ path: String, isTemporary: Bool) {
        self.isTemporary = isTemporary
        self.path = AbsolutePath.of(path)
    }

    /// Whether the folder is removed when the service ends.
    package let isTemporary: Bool

    /// A new folder in the system's folder for temporary files. It is removed when the service ends.
    static func temporary() -> DataFolder {
        let name = "carillon-" + UUID().uuidString.prefix(8)
        return DataFolder(FileManager.default.temporaryDirectory.appendingPathComponent(name).path, isTemporary: true)
    }

    /// The root certificate, which clients have to trust.
    package var authorityFile: String { path + "/ca.pem" }
    /// Describes the running service.
    package var descriptionFile: String { path + "/service.json" }
    /// The key of the management API.
    package var managementKeyFile: String { path + "/management.key" }
    /// The default place of the management API's socket.
    package var socketFile: String { path + "/admin.sock" }
    /// The delivery log.
    package var logFolder: String { path + "/log" }
    /// The folder of captured requests.
    var capturedFolder: String { path + "/" + CapturedRequests.folderName }
    /// The identity of this node in a store outside the folder.
    var nodeFile: String { path + "/\(NodeFile.name)" }
    package var lockFile: String { path + "/lock" }

    /// What was there before the start, so that a failed start can restore it.
    struct Before {
        /// The uppermost folder that has to be created; nil if the data folder exists.
        let missing: String?
    }

    /// Returns what is there now. Call this before anything is created.
    func before() -> Before {
        var missing: String?
        var url = URL(fileURLWithPath: path)
        while url.path != "/", !FileManager.default.fileExists(atPath: url.path) {
            missing = url.path
            url.deleteLastPathComponent()
        }
        return Before(missing: missing)
    }

    /// Whether the folder contains nothing but the lock of this start.
    var isFresh: Bool { (try? contents()) == ["lock"] }

    /// The names of the files in the folder, without the one that a file system makes in its topmost folder.
    private func contents() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).filter { $0 != "lost+found" }
    }

    /// Removes the files that a failed first start has made. Call this while holding the lock; otherwise another
    /// service may have started in the folder meanwhile.
    func removeHalfMade(_ before: Before) {
        // If a file cannot be removed, the next start still works.
        for name in (try? contents()) ?? [] {
            try? FileManager.default.removeItem(atPath: path + "/" + name)
        }
        guard let missing = before.missing else { return }
        var url = URL(fileURLWithPath: path)
        // This removes only empty folders, so files that somebody else has added stay.
        while url.path.hasPrefix(missing), rmdir(url.path) == 0 { url.deleteLastPathComponent() }
    }

    /// Creates the folder if it is missing. If it exists, checks that it is empty, or that a service with the same
    /// kind of store made it.
    func prepare(for store: StoreChoice) throws(ServiceError) {
        let manager = FileManager.default
        var isFolder: ObjCBool = false
        if manager.fileExists(atPath: path, isDirectory: &isFolder) {
            guard isFolder.boolValue else {
                throw ServiceError(.dataFolder, "\(path) is a file; name a folder with --data.")
            }
            try checkContents(for: store)
            // Make an existing folder as private as a new one. If the service may not change the folder's
            // permissions, the permissions of the files in it still protect them.
            chmod(path, 0o700)
        } else {
            do {
                try manager.createDirectory(
                    atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            } catch {
                throw ServiceError(
                    .dataFolder,
                    "The data folder \(path) cannot be made (\(Self.reason(error))); name another with --data.")
            }
        }
        guard access(path, W_OK | X_OK) == 0 else {
            throw ServiceError(
                .dataFolder, "The data folder \(path) cannot be written to; change its permissions or name another.")
        }
    }

    /// Checks that the folder is empty or was made by the service, because other people's files must not be touched.
    private func checkContents(for store: StoreChoice) throws(ServiceError) {
        let names: [String]
        do {
            names = try contents()
        } catch {
            throw ServiceError(.dataFolder, "The data folder \(path) cannot be read: \(Self.reason(error)).")
        }
        let visible = names.filter { !$0.hasPrefix(".") }
        guard visible.contains(SQLiteStore.fileName) else {
            // An interrupted first start, or a service with the store in memory, may have left these files.
            let ours: Set<String> = [
                "lock", "log", "\(SQLiteStore.fileName).new", "\(SQLiteStore.fileName).new-journal",
                SQLiteStore.secretsFolderName, "ca.pem", "development.json", "management.key", "service.json",
                "admin.sock", NodeFile.name, VirtualDeviceFile.name, CapturedRequests.folderName,
            ]
            let others = visible.filter { !ours.contains($0) && !($0.hasPrefix("AuthKey_") && $0.hasSuffix(".p8")) }
            guard others.isEmpty else {
                throw ServiceError(
                    .dataFolder,
                    "\(path) holds other files (\(others.sorted()[0]) for one); name an empty or a new folder with --data."
                )
            }
            // The folder was used with a shared store. Another store would have another authority, which the clients
            // do not trust.
            guard store.isShared || !visible.contains(NodeFile.name) else {
                throw ServiceError(
                    .dataFolder,
                    "\(path) belongs to a PostgreSQL store; set that store, or name another folder with --data.")
            }
            return
        }
        guard store == .sqlite else {
            throw ServiceError(
                .dataFolder, "\(path) holds an embedded store; name another folder with --data, or none.")
        }
    }

    /// Checks that the authority of a shared store is the one that the folder names. This is not needed for other
    /// stores: a memory store makes a new authority at each start, and the embedded store is inside the folder.
    func check(_ authorityPEM: String, of store: StoreChoice) throws(ServiceError) {
        guard store.isShared, let present = FileManager.default.contents(atPath: authorityFile),
            present != Data(authorityPEM.utf8)
        else { return }
        throw ServiceError(
            .dataFolder,
            "\(path) belongs to a service with another authority; check the store's URL, or name another folder with --data."
        )
    }

    /// Whether the folder exists, but this process may not read it.
    package var isClosedToThisUser: Bool { access(descriptionFile, F_OK) != 0 && errno == EACCES }

    /// Removes the description of a running service. If that fails, it names a service that does not answer.
    func removeDescription() { try? FileManager.default.removeItem(atPath: descriptionFile) }

    /// Removes the folder and everything in it, if it is a temporary folder.
    func removeIfTemporary() {
        // If files cannot be removed, they stay in the system's folder for temporary files.
        if isTemporary { try? FileManager.default.removeItem(atPath: path) }
    }

    /// Writes a file completely or not at all, even if the machine fails meanwhile.
    /// - Parameters:
    ///   - isPublic: whether every user may read the file; otherwise only the owner may.
    ///   - replacing: whether to replace an existing file.
    package static func write(
        _ text: String,
        to file: String,
        isPublic: Bool = false,
        replacing: Bool = true,
    ) throws(ServiceError) {
        try write(Array(text.utf8), to: file, isPublic: isPublic, replacing: replacing)
    }

    package static func write(
        _ bytes: [UInt8],
        to file: String,
        isPublic: Bool = false,
        replacing: Bool = true,
    ) throws(ServiceError) {
        do {
            let mode = isPublic ? Files.publicFile : Files.privateFile
            guard try Files.make(file, bytes, mode: mode, replacing: replacing) else {
                throw ServiceError(.dataFolder, "\(file) exists already, and is not overwritten.")
            }
        } catch {
            throw error as? ServiceError ?? ServiceError(.dataFolder, Self.reason(error))
        }
    }

    /// Why a file could not be used, in words for a person, without names of libraries' types.
    package static func reason(_ error: any Error) -> String {
        switch error {
        case let error as ServiceError: return error.cause
        case let error as StoreError: return error.cause
        case let error as TrustError: return error.reason
        case is DecodingError, is EncodingError: return "its contents are not valid"
        case is NIOSSLError, is BoringSSLError, is IOError: return ConnectionFailure.cause(of: error)
        // Use the system's text, as other messages do.
        default: return ConnectionFailure.ofFile(error)
        }
    }
}
