package import PostgresClient
package import Storage

extension StoreError {
    package static let postgresDiskFull = StoreError(
        .unavailable, "The disk of PostgreSQL is full: free some space, then storing works again.")
}

extension StoreError {
    /// Another transaction holds the row, so nothing was stored.
    package static let rowLocked = StoreError(
        .locked, "Another transaction holds the row in PostgreSQL: pg_locks shows which.")
}

extension PostgresError {
    /// The error for a row that this store cannot have written.
    package static func damaged(_ what: String) -> PostgresError {
        PostgresError(.unexpectedAnswer, "The database has \(what) that cannot be read.")
    }

    package var storeError: StoreError {
        switch kind {
        case .connectionLost:
            StoreError(.unknown, "The connection to PostgreSQL was lost: \(message)")
        case .notConnected:
            StoreError(.unavailable, "PostgreSQL cannot be reached: \(message)")
        case .busy:
            StoreError(.unavailable, "PostgreSQL does not keep up: \(message)")
        case .readOnly:
            StoreError(
                .unavailable,
                "PostgreSQL is read-only: add target_session_attrs=read-write to the store's URL, and name all hosts.")
        case .full: .postgresDiskFull
        case .locked: .rowLocked
        case .notAllowed:
            StoreError(.unavailable, "PostgreSQL refused the login: \(self)")
        case .unsuitable: StoreError(.unavailable, message)
        case .cancelled: .tookTooLong
        case .conflict, .uniqueViolation, .other:
            StoreError(.unavailable, "PostgreSQL refused the change: \(self)")
        case .unexpectedAnswer:
            StoreError(.unreadable, "\(message) Stop the service and restore a backup of the database.")
        }
    }

    /// The same error if nothing can have been changed, so that the result is never unknown.
    package var withoutChange: PostgresError {
        kind == .connectionLost ? PostgresError(.notConnected, message, state: state) : self
    }

    /// The error if a store cannot be opened. Nothing can have been stored yet.
    /// - Parameter schema: the schema that the store makes.
    package func startError(schema: String) -> StoreError {
        if state == "42501" {
            return StoreError(
                .unavailable, "The PostgreSQL user may not create the schema \(schema): \(message)")
        }
        return withoutChange.storeError
    }
}
