import Delivery
import Foundation
import PrivateFiles
import SQLiteStore

/// The one folder that holds everything the service keeps, and the files by which its commands find it.
package struct DataFolder: Sendable {
    /// Absolute.
    package let path: String

    /// - Parameter path: absolute, or from the working directory on; `~` stands for the home folder.
    package init(_ path: String) {
        let expanded = NSString(string: path).expandingTildeInPath
        self.path = URL(fileURLWithPath: expanded).standardizedFileURL.path
    }

    /// The root certificate, for clients.
    package var authorityFile: String { path + "/ca.pem" }
    /// Describes the running service.
    package var descriptionFile: String { path + "/service.json" }
    /// Where the administration listens unless a setting says otherwise.
    package var socketFile: String { path + "/admin.sock" }
    /// The delivery log.
    package var logFolder: String { path + "/log" }
    var lockFile: String { path + "/lock" }

    /// Makes the folder where it is missing, and sees that it is a folder of ours or an empty one.
    func prepare() throws(ServiceError) {
        let manager = FileManager.default
        var isFolder: ObjCBool = false
        if manager.fileExists(atPath: path, isDirectory: &isFolder) {
            guard isFolder.boolValue else {
                throw ServiceError(.dataFolder, "\(path) is a file; name a folder with --data.")
            }
            try checkContents()
            // A folder that was made beforehand is closed to others, as one that is made here is. Where that is not
            // allowed, the files in it are closed themselves.
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
                .dataFolder, "The data folder \(path) cannot be written to; mend its permissions or name another.")
        }
    }

    /// Somebody else's files are left alone: a folder with something in it has to be one of ours.
    private func checkContents() throws(ServiceError) {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw ServiceError(.dataFolder, "The data folder \(path) cannot be read: \(Self.reason(error)).")
        }
        let visible = names.filter { !$0.hasPrefix(".") }
        // A first start that broke off may have left no more than these.
        let beginnings: Set<String> = [
            "lock", "log", "carillon.sqlite.new", "carillon.sqlite.new-journal", "secrets",
        ]
        guard visible.contains("carillon.sqlite") || Set(visible).isSubset(of: beginnings) else {
            throw ServiceError(
                .dataFolder,
                "\(path) holds other files (\(visible.sorted()[0]) for one); name an empty or a new folder with --data."
            )
        }
    }

    /// Writes a file that only its owner may read, whole or not at all.
    /// - Parameters:
    ///   - isPublic: for everybody to read.
    ///   - replacing: whether a file that is there gives way.
    package static func write(
        _ text: String,
        to file: String,
        isPublic: Bool = false,
        replacing: Bool = true,
    ) throws(ServiceError) {
        do {
            let mode = isPublic ? Files.publicFile : Files.privateFile
            guard try Files.make(file, Array(text.utf8), mode: mode, replacing: replacing) else {
                throw ServiceError(.dataFolder, "\(file) is there already, and is not overwritten.")
            }
        } catch {
            throw error as? ServiceError ?? ServiceError(.dataFolder, (error as? StoreError)?.cause ?? "\(error)")
        }
    }

    /// What the system says of an error with a file.
    package static func reason(_ error: any Error) -> String {
        let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        if let underlying, underlying.domain == NSPOSIXErrorDomain {
            return String(cString: strerror(Int32(underlying.code)))
        }
        return error.localizedDescription
    }
}
