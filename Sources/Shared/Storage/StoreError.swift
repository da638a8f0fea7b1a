package import Notifications

/// The reason why a port's operation failed.
package struct StoreError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// It is unknown whether the operation was done. Repeating it does no harm.
        case unknown
        /// The operation was not done, and may succeed later (a full disk, a store that cannot be reached).
        case unavailable
        /// Somebody else has changed the data first. Read it again and decide again.
        case conflict
        /// The operation was not done, because another transaction holds the row. It will succeed when that has ended.
        case locked
        /// The object to create already exists.
        case exists
        /// The object does not exist.
        case missing
        /// The registration ended at this time. A registration that the store does not know, because it never
        /// existed or its app was deleted, counts as ended now.
        case ended(at: Timestamp)
        /// The device was revoked.
        case revoked
        /// The stored data cannot be read: it is damaged, was written by a newer version, or belongs to another
        /// program.
        case unreadable
    }

    package let code: Code
    /// A sentence for a person that says what happened and what to do. It contains no secrets.
    package let cause: String

    package init(_ code: Code, _ cause: String) {
        self.code = code
        self.cause = cause
    }

    package var description: String { cause }
}

extension StoreError {
    /// Another node may have stored a newer notification meanwhile.
    package static let overtaken = StoreError(
        .conflict,
        "It took so long to store the notification that another one came through another node meanwhile. It may have been "
            + "delivered before. Send it again if it is still the newest.")

    /// The database has a limit for the time that one statement may take.
    package static let tookTooLong = StoreError(
        .unavailable, "PostgreSQL cancelled the statement, usually because it took too long (SQLSTATE 57014).")

    /// The registration is not active.
    package static func ended(at moment: Timestamp) -> StoreError {
        StoreError(.ended(at: moment), "The app was removed from the device.")
    }

    package static func revoked(_ device: DeviceID) -> StoreError {
        StoreError(.revoked, "The device \(device) was revoked.")
    }
}
