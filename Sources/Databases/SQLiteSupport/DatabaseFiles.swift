import PrivateFiles
package import Storage
import Synchronization

/// Checks that the files of an open database are still in their place.
///
/// If somebody deletes or moves the files of a running process, the process goes on writing to them, and SQLite does
/// not notice. Such writes are lost when the process ends, so the store must not report them as stored.
package final class DatabaseFiles: Sendable {
    /// SQLite keeps the same files from the first transaction of a connection until the last connection is closed
    /// (https://www.sqlite.org/walformat.html, 1).
    private let files: [(path: String, identity: FileIdentity)]
    private let logPath: String
    /// Whether the files were ever missing. If so, they are never used again, because another process may have put
    /// other files in their place and used them.
    private let wereMissing = Atomic(false)

    /// - Parameter path: the path of the database. The database must have been read already, so that its files exist.
    package init(of path: String) throws(StoreError) {
        logPath = path + "-wal"
        files = try [path, path + "-wal", path + "-shm"].map { path throws(StoreError) in
            (path, try FileIdentity(of: path))
        }
    }

    /// The size of the write-ahead log; 0 if it is unknown.
    package var logBytes: Int { Files.byteCount(of: logPath) ?? 0 }

    /// Why nothing can be stored; nil while the files are in their place.
    package var trouble: StoreError? {
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
