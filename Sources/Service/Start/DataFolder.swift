import Connections
import Delivery
import Foundation
import NIOCore
import NIOSSL
import PrivateFiles
import SQLiteStore
import Trust

/// The folder with everything that the service keeps, and with the files by which commands find the service.
package struct DataFolder: Sendable {
    /// An absolute path.
    package let path: String

    /// - Parameter path: absolute, or relative to the working directory; `~` stands for the home folder.
    package init(_ path: String) { self.init(path, isTemporary: false) }

    private init(_ path: String, isTemporary: Bool) {
        self.isTemporary = isTemporary
        let expanded = NSString(string: path).expandingTildeInPath
        self.path = URL(fileURLWithPath: expanded).standardizedFileURL.path
    }

    /// Whether it is removed when the service ends.
    package let isTemporary: Bool

    /// A new folder among the system's temporary ones, which is removed when the service ends.
    static func temporary() -> DataFolder {
        let name = "carillon-" + UUID().uuidString.prefix(8)
        return DataFolder(FileManager.default.temporaryDirectory.appendingPathComponent(name).path, isTemporary: true)
    }

    /// The root certificate, for clients.
    package var authorityFile: String { path + "/ca.pem" }
    /// Describes the running service.
    package var descriptionFile: String { path + "/service.json" }
    /// The key of the management API.
    package var managementKeyFile: String { path + "/management.key" }
    /// Where the management API listens unless a setting says otherwise.
    package var socketFile: String { path + "/admin.sock" }
    /// The delivery log.
    package var logFolder: String { path + "/log" }
    /// The identity with which the service uses a store outside of the folder.
    var nodeFile: String { path + "/\(NodeIdentity.fileName)" }
    var lockFile: String { path + "/lock" }

    /// The state before the start, so that a failed start can restore it.
    struct Before {
        /// The highest folder that was missing; nil if the data folder exists.
        let missing: String?
    }

    /// Returns the folder's state. Call it before anything is created.
    func before() -> Before {
        var missing: String?
        var url = URL(fileURLWithPath: path)
        while url.path != "/", !FileManager.default.fileExists(atPath: url.path) {
            missing = url.path
            url.deleteLastPathComponent()
        }
        return Before(missing: missing)
    }

    /// Whether the folder contains only this start's lock, and nothing of an earlier start.
    var isFresh: Bool { (try? FileManager.default.contentsOfDirectory(atPath: path)) == ["lock"] }

    /// Removes the files that a failed first start has made. Call it with the lock held: without it, another service
    /// may have started in the folder.
    func removeHalfMade(_ before: Before) {
        // A file that cannot be removed does not prevent another start.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
            try? FileManager.default.removeItem(atPath: path + "/" + name)
        }
        guard let missing = before.missing else { return }
        var url = URL(fileURLWithPath: path)
        // Removes only empty folders, because somebody else may have added files.
        while url.path.hasPrefix(missing), rmdir(url.path) == 0 { url.deleteLastPathComponent() }
    }

    /// Creates the folder if it is missing, and checks that it is empty or ours, for the same kind of store.
    func prepare(for store: StoreChoice) throws(ServiceError) {
        let manager = FileManager.default
        var isFolder: ObjCBool = false
        if manager.fileExists(atPath: path, isDirectory: &isFolder) {
            guard isFolder.boolValue else {
                throw ServiceError(.dataFolder, "\(path) is a file; name a folder with --data.")
            }
            try checkContents(for: store)
            // Close an existing folder to others, as a new one would be. If the service may not change the folder's
            // permissions, those of the files protect them.
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

    /// Checks that the folder is empty or one of ours, because other people's files must not be touched.
    private func checkContents(for store: StoreChoice) throws(ServiceError) {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw ServiceError(.dataFolder, "The data folder \(path) cannot be read: \(Self.reason(error)).")
        }
        let visible = names.filter { !$0.hasPrefix(".") }
        guard visible.contains(SQLiteStore.fileName) else {
            // A first start that was interrupted, or a service with the store in memory, may have left these.
            let ours: Set<String> = [
                "lock", "log", "\(SQLiteStore.fileName).new", "\(SQLiteStore.fileName).new-journal",
                SQLiteStore.secretsFolderName, "ca.pem", "development.json", "management.key", "service.json",
                "admin.sock", NodeIdentity.fileName, VirtualDeviceFile.name,
            ]
            let others = visible.filter { !ours.contains($0) && !($0.hasPrefix("AuthKey_") && $0.hasSuffix(".p8")) }
            guard others.isEmpty else {
                throw ServiceError(
                    .dataFolder,
                    "\(path) holds other files (\(others.sorted()[0]) for one); name an empty or a new folder with --data."
                )
            }
            // Another store would make another authority in place of the one that clients trust.
            guard store.isShared || !visible.contains(NodeIdentity.fileName) else {
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

    /// Checks that the folder belongs to the authority of this shared store. A memory store makes a new authority at
    /// each start, and the embedded store is in the folder itself, so neither is checked.
    func check(_ authorityPEM: String, of store: StoreChoice) throws(ServiceError) {
        guard store.isShared, let present = FileManager.default.contents(atPath: authorityFile),
            present != Data(authorityPEM.utf8)
        else { return }
        throw ServiceError(
            .dataFolder,
            "\(path) belongs to a service with another authority; check the store's URL, or name another folder with --data."
        )
    }

    /// Whether the folder exists and this process may not read it.
    package var isClosedToThisUser: Bool { access(descriptionFile, F_OK) != 0 && errno == EACCES }

    /// Removes a temporary folder with all that is in it.
    func removeIfTemporary() {
        // Files that cannot be removed stay in the system's temporary folder.
        if isTemporary { try? FileManager.default.removeItem(atPath: path) }
    }

    /// Writes a file completely or not at all.
    /// - Parameters:
    ///   - isPublic: whether everybody may read it; otherwise only its owner may.
    ///   - replacing: whether it replaces an existing file.
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

    /// The reason why a file could not be used, in words for a person, without the libraries' types and file names.
    package static func reason(_ error: any Error) -> String {
        switch error {
        case let error as ServiceError: return error.cause
        case let error as StoreError: return error.cause
        case let error as TrustError: return error.reason
        case is DecodingError, is EncodingError: return "its contents are not valid"
        case is NIOSSLError, is BoringSSLError, is IOError: return ConnectionFailure.cause(of: error)
        default: break
        }
        let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        if let underlying, underlying.domain == NSPOSIXErrorDomain {
            return String(cString: strerror(Int32(underlying.code)))
        }
        // The system's text, as in other messages.
        switch (error as? CocoaError)?.code {
        case .fileNoSuchFile, .fileReadNoSuchFile: return String(cString: strerror(ENOENT))
        case .fileReadNoPermission, .fileWriteNoPermission: return String(cString: strerror(EACCES))
        case .fileWriteOutOfSpace: return String(cString: strerror(ENOSPC))
        default: return error.localizedDescription
        }
    }
}
