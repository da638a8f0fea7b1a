import Delivery
import PrivateFiles
import Synchronization

/// Whether the files of an open database are still in their place.
///
/// A process that has files open goes on writing to them after somebody has deleted or moved them, and SQLite does not
/// notice. What it writes then is gone with the process, so nobody may be told that it is stored.
final class DatabaseFiles: Sendable {
    /// SQLite keeps the same files from the first transaction of a connection until the last connection is closed
    /// (https://www.sqlite.org/walformat.html, 1).
    private let files: [(path: String, identity: FileIdentity)]
    private let logPath: String
    /// Once they were missing they are of no use any more: another process may have put others into their place, and used
    /// them.
    private let wereMissing = Atomic(false)

    /// - Parameter path: the database's, which has been read.
    init(of path: String) throws(StoreError) {
        logPath = path + "-wal"
        files = try [path, path + "-wal", path + "-shm"].map { path throws(StoreError) in
            (path, try FileIdentity(of: path))
        }
    }

    /// How large the write-ahead log is; 0 if that cannot be seen.
    var logBytes: Int { Files.byteCount(of: logPath) ?? 0 }

    /// Why nothing can be stored; nil while the files are in their place.
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
