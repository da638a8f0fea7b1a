import Foundation

/// Files that hold what only the device may know.
enum OwnFile {
    /// Writes a file that only its owner may read, whole or not at all.
    static func write(_ data: Data, to path: String) throws(DeviceError) {
        let temporary = "\(path).\(UUID().uuidString.prefix(8)).new"
        let manager = FileManager.default
        guard manager.createFile(atPath: temporary, contents: data, attributes: [.posixPermissions: 0o600]),
            rename(temporary, path) == 0
        else {
            let reason = String(cString: strerror(errno))
            try? manager.removeItem(atPath: temporary)  // The error to tell is the first one.
            throw DeviceError(.storage, "\(path) cannot be written: \(reason)")
        }
    }
}
