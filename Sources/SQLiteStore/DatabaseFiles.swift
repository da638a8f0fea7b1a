import Delivery
import PrivateFiles
import Synchronization

/// Checks that the files of an open database are still in their place.
///
/// A process with open files continues to write to them after somebody has deleted or moved them, and SQLite does not
/// notice. Those writes are lost when the process ends, so nothing may be reported as stored.
final class DatabaseFiles: Sendable {
    /// SQLite keeps the same files from the first transaction of a connection until the last connection is closed
    /// (https://www.sqlite.org/walformat.html, 1).
    private let files: [(path: String, identity: FileIdentity)]
    private let logPath: String
    /// Files that were missing once are never used again, because another process may have put others in their place,
    /// and used them.
    private let wereMissing = Atomic(false)

    /// - Parameter path: the database's, which has been read.
    init(of path: String) throws(StoreError) {
        logPath = path + "-wal"
        files = try [path, path + "-wal", path + "-shm"].map { path throws(StoreError) in
            (path, try FileIdentity(of: path))
        }
    }

    /// The size of the write-ahead log; 0 if it is unknown.
    var logBytes: Int { Files.byteCount(of: logPath) ?? 0 }

    /// The reason why nothing can be stored; nil while the files are in their place.
    var trouble: StoreError? {
        if !wereMissing.load(ordering: .relaxed) {
            guard files.contains(where: { $0.identity.isGone(from: $0.path) }) else { return nil }
            wereMissing.store(true, ordering: .relaxed)
        }
        return StoreError(
            .unavailable,
            "The database's files were deleted, moved or replaced while the service runs: stop the service, restore a backup, "
                + "and start it again.")
    }
}
