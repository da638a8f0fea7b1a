import Foundation

/// Files that only their owner may read.
enum OwnFile {
    /// Writes a file that only its owner may read. If writing fails, the old file is unchanged.
    static func write(_ data: Data, to path: String) throws(DeviceError) {
        let temporary = "\(path).\(UUID().uuidString.prefix(8)).new"
        do {
            // FileManager would change the mode only after it has written the contents.
            let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
            let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try file.write(contentsOf: data)
            try file.synchronize()
            guard rename(temporary, path) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        } catch {
            unlink(temporary)
            let cause = (error as? POSIXError).map { String(cString: strerror($0.code.rawValue)) }
            throw DeviceError(.storage, "\(path) cannot be written: \(cause ?? error.localizedDescription)")
        }
        synchronizeFolder(of: path)
    }

    /// After a power failure the file has its new name. Not all file systems can do this for a folder.
    private static func synchronizeFolder(of path: String) {
        let parent = (path as NSString).deletingLastPathComponent
        let folder = open(parent.isEmpty ? "." : parent, O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }
}
