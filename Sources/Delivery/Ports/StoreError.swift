package import Notifications

/// Why a port could not do what was asked.
package struct StoreError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// It may or may not have been done: doing it again is harmless.
        case unknown
        /// It was not done; it may work later (a full disk, a store that cannot be reached).
        case unavailable
        /// Somebody else changed it first: read again and decide again.
        case conflict
        /// What was to be made is there already.
        case exists
        /// What was named is not there.
        case missing
        /// The registration that it was for has ended at that moment. One that the store does not know, because it never was
        /// or its app was deleted, counts as ended now.
        case ended(at: Timestamp)
        /// The device that it was for is trusted no more.
        case revoked
        /// What is stored cannot be read: damaged, made by a newer version, or not ours.
        case unreadable
    }

    package let code: Code
    /// What happened and what to do, in one sentence for a person; holds no secret.
    package let cause: String

    package init(_ code: Code, _ cause: String) {
        self.code = code
        self.cause = cause
    }

    package var description: String { cause }
}

extension StoreError {
    /// There is no active registration.
    package static func ended(at moment: Timestamp) -> StoreError {
        StoreError(.ended(at: moment), "The app was removed from the device.")
    }

    package static func revoked(_ device: DeviceID) -> StoreError {
        StoreError(.revoked, "The device \(device) was revoked.")
    }
}
