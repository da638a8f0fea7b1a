import Foundation
import Synchronization

/// Files in a temporary folder, which only their owner can read.
final class TemporaryFiles: Sendable {
    private let folder = Mutex<URL?>(nil)

    /// Writes a file, and returns its path.
    func write(_ text: String, as name: String) throws -> String {
        try folder.withLock { folder in
            let place =
                folder ?? FileManager.default.temporaryDirectory.appendingPathComponent("carillon-\(UUID().uuidString)")
            if folder == nil {
                try FileManager.default.createDirectory(
                    at: place, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
                folder = place
            }
            let file = place.appendingPathComponent(name)
            try Data(text.utf8).write(to: file)
            return file.path
        }
    }

    /// Removes all of them.
    func remove() {
        folder.withLock { folder in
            // Somebody may have removed it already.
            if let folder { try? FileManager.default.removeItem(at: folder) }
            folder = nil
        }
    }
}
