import Connections
package import Foundation

/// Reads a file that an option names.
package enum InputFile {
    /// - Parameter meaning: what the file should contain, for the error message.
    package static func read(_ path: String, _ meaning: String) throws -> Data {
        do {
            return try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw unreadable(path, meaning, ConnectionFailure.ofFile(error))
        }
    }

    /// - Parameter meaning: what the file should contain, for the error message.
    package static func text(_ path: String, _ meaning: String) throws -> String {
        String(decoding: try read(path, meaning), as: UTF8.self)
    }

    /// Opens a file that is read in parts.
    /// - Parameter meaning: what the file should contain, for the error message.
    /// - Returns: the file, and its size in bytes; nil if it has no size, such as a pipe.
    package static func open(_ path: String, _ meaning: String) throws -> (file: FileHandle, size: Int?) {
        let file: FileHandle
        do {
            file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        } catch {
            throw unreadable(path, meaning, ConnectionFailure.ofFile(error))
        }
        var status = stat()
        guard fstat(file.fileDescriptor, &status) == 0 else {
            throw unreadable(path, meaning, String(cString: strerror(errno)))
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return (file, Int(exactly: status.st_size))
        // It can be opened, and only reading it fails.
        case S_IFDIR: throw unreadable(path, meaning, String(cString: strerror(EISDIR)))
        default: return (file, nil)
        }
    }

    private static func unreadable(_ path: String, _ meaning: String, _ cause: String) -> CommandError {
        CommandError("The \(meaning) \(path) cannot be read: \(cause).")
    }
}
