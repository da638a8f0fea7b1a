package import GRDB
package import Storage

/// An error code of SQLite, and its meaning: https://www.sqlite.org/rescode.html
package struct SQLiteFailure: Error, Sendable {
    /// The extended result code.
    package let code: ResultCode
    package let message: String

    package init(code: ResultCode, message: String) {
        self.code = code
        self.message = message
    }

    /// A row has values that the store does not write.
    package static func damaged(_ what: String) -> SQLiteFailure {
        SQLiteFailure(code: .SQLITE_CORRUPT, message: what)
    }

    package init(_ error: any Error) {
        if let error = error as? SQLiteFailure {
            self = error
        } else if let error = error as? DatabaseError {
            self.init(code: error.extendedResultCode, message: error.message ?? "no message")
        } else {
            self.init(code: .SQLITE_ERROR, message: String(describing: error))
        }
    }

    /// Whether the disk or the database has no room.
    package var isFull: Bool { code.primaryResultCode == .SQLITE_FULL }

    /// Whether the whole transaction has to be rolled back, because the failure is not only about the values of one
    /// statement. SQLite may have rolled it back already (https://www.sqlite.org/lang_transaction.html, 3).
    package var endsTransaction: Bool {
        switch code.primaryResultCode {
        case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG, .SQLITE_RANGE: false
        default: true
        }
    }

    /// Whether this failure of a COMMIT proves that it did not commit: the log had no room, or the lock was not
    /// available. After other failures, such as a failed fsync, a restart may still find the transaction in the log.
    package var provesCommitFailed: Bool {
        switch code.primaryResultCode {
        case .SQLITE_FULL, .SQLITE_BUSY, .SQLITE_CONSTRAINT: true
        default: false
        }
    }

    /// The error for callers if the work was certainly not done.
    package var storeError: StoreError {
        switch code.primaryResultCode {
        // The second code means that there was no room for the shared-memory index of the log, which is a file too.
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

    /// The error for callers if it is uncertain whether the COMMIT succeeded.
    package var doubtfulCommit: StoreError {
        StoreError(.unknown, "The disk failed at the end of a transaction (\(summary)): check the disk and try again.")
    }

    private var summary: String { "SQLite error \(code.rawValue), \(message)" }
}
