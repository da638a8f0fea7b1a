import Foundation

/// Files that only their owner may read.
enum OwnFile {
    /// Writes a file that only its owner may read. If writing fails, the old file is unchanged.
    static func write(_ data: Data, to path: String) throws(DeviceError) {
        let temporary = "\(path).\(UUID().uuidString.prefix(8)).new"
        let manager = FileManager.default
        guard manager.createFile(atPath: temporary, contents: data, attributes: [.posixPermissions: 0o600]),
            rename(temporary, path) == 0
        else {
            let reason = String(cString: strerror(errno))
            try? manager.removeItem(atPath: temporary)  // The first error is the one to report.
            throw DeviceError(.storage, "\(path) cannot be written: \(reason)")
        }
    }
}
