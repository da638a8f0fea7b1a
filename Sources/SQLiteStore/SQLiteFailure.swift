import Delivery
import GRDB

/// A result code of SQLite's that is not a success, and what it means.
///
/// https://www.sqlite.org/rescode.html
struct SQLiteFailure: Error, Sendable {
    /// The extended result code.
    let code: ResultCode
    let message: String

    init(code: ResultCode, message: String) {
        self.code = code
        self.message = message
    }

    init(_ error: any Error) {
        if let error = error as? SQLiteFailure {
            self = error
        } else if let error = error as? DatabaseError {
            self.init(code: error.extendedResultCode, message: error.message ?? "no message")
        } else {
            self.init(code: .SQLITE_ERROR, message: String(describing: error))
        }
    }

    /// The disk or the database has no room.
    var isFull: Bool { code.primaryResultCode == .SQLITE_FULL }

    /// Whether the failure is one of the database and not of one statement's values: then the whole transaction has to
    /// be rolled back, which SQLite may have done already (https://www.sqlite.org/lang_transaction.html, 3).
    var endsTransaction: Bool {
        switch code.primaryResultCode {
        case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG, .SQLITE_RANGE: false
        default: true
        }
    }

    /// Whether a COMMIT that ends like this certainly did not commit: the log had no room for it, or the lock was not
    /// to be had. After anything else, a failed fsync above all, a restart may find the transaction in the log.
    var provesCommitFailed: Bool {
        switch code.primaryResultCode {
        case .SQLITE_FULL, .SQLITE_BUSY, .SQLITE_CONSTRAINT: true
        default: false
        }
    }

    /// What a caller of the ports is told where the work was certainly not done.
    var storeError: StoreError {
        switch code.primaryResultCode {
        // The index of the log in shared memory is a file as well.
        case .SQLITE_FULL,
            _ where code == .SQLITE_IOERR_SHMSIZE:
            StoreError(.unavailable, "The disk is full: free some space, then storing works again.")
        case .SQLITE_IOERR:
            StoreError(.unavailable, "The disk failed (\(summary)): check the disk.")
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            StoreError(.unavailable, "Another program holds the database locked: end that program's transaction.")
        case .SQLITE_CORRUPT, .SQLITE_NOTADB:
            StoreError(.unreadable, "The database is damaged (\(summary)): stop the service and restore a backup.")
        case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH, .SQLITE_CANTOPEN:
            StoreError(.unavailable, "The database cannot be written (\(summary)): check its folder's permissions.")
        default:
            StoreError(.unavailable, "The database refused the change (\(summary)).")
        }
    }

    /// What a caller is told where a COMMIT may or may not have been done.
    var doubtfulCommit: StoreError {
        StoreError(.unknown, "The disk failed at the end of a transaction (\(summary)): check the disk and try again.")
    }

    private var summary: String { "SQLite error \(code.rawValue), \(message)" }
}
