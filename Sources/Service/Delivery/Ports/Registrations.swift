package import Notifications
package import Storage

/// The registrations that can be read without waiting. The delivery log reads them under its callers' locks.
///
/// An answer is right, or was right a moment ago. When a notification is stored, the store checks again whether the
/// registration is active (``Mailboxes/store(_:)``). If only one process uses the store, all registrations are known
/// and nothing has to wait. Otherwise `Delivery` keeps a connection's notifications in order while it looks up the
/// registration of one of them.
package protocol KnownRegistrations: Sendable {
    /// Returns what is known of a registration; nil if the store has to be asked with ``Registrations/lookUp(_:)``.
    func knownRegistration(of destination: Destination) -> KnownRegistration?

    /// Returns what is known of several registrations, in the order of the destinations. With many registrations a
    /// look-up mostly waits for memory, and the waits for several can overlap.
    func knownRegistration(ofEach destinations: [Destination]) -> [KnownRegistration?]
}

extension KnownRegistrations {
    package func knownRegistration(ofEach destinations: [Destination]) -> [KnownRegistration?] {
        destinations.map { knownRegistration(of: $0) }
    }
}

/// The registrations of apps on devices, with their device tokens.
///
/// Each call that changes something is atomic: readers see all of its effects or none, and so does the next start
/// after a crash.
package protocol Registrations: KnownRegistrations {
    /// Returns the registrations of these destinations, in their order; nil for a destination that never had one.
    func lookUp(_ destinations: [Destination]) async throws(StoreError) -> [Registration?]

    /// Makes the registration active. An existing registration keeps its token, and a first one has generation 1. The
    /// same step removes the device token from its feedback list.
    /// - Parameter tokenKeyID: the token key that seals the token of a first registration.
    /// - Throws: ``StoreError/Code/revoked`` if the device is revoked in the accounts at the time of writing. So if
    ///   a device is revoked and its registrations are then ended, none is left.
    func register(
        _ destination: Destination,
        tokenKeyID: UInt32,
        at moment: Timestamp,
    ) async throws(StoreError) -> Registration

    /// Ends the registration and empties its mailbox in one step. A notification that is being stored at the same
    /// time does not stay behind (``Mailboxes/store(_:)``). Ending it again does no harm.
    /// - Returns: The registration afterwards; nil if there never was one.
    func end(_ destination: Destination, at moment: Timestamp) async throws(StoreError) -> Registration?

    /// Gives each of the device's registrations a new generation, sealed with this key and inactive until the app
    /// registers again, and empties their mailboxes. Either all of them change or none.
    func renewTokens(of device: DeviceKey, tokenKeyID: UInt32, at moment: Timestamp) async throws(StoreError)

    /// Removes the registrations of apps that are not in the accounts, with their mailboxes and feedback entries. If
    /// an app is deleted at the same time, it may be left for the next call. Nobody can use this data any more,
    /// because the provider APIs refuse its device tokens.
    /// - Parameter limit: the largest number of registrations to remove. The next call removes the rest, also after
    ///   a restart.
    /// - Returns: The number of removed registrations; less than `limit` if there are no more.
    func removeOrphaned(limit: Int) async throws(StoreError) -> Int

    /// Returns the registrations of the device's apps, including ended ones.
    func registrations(of device: DeviceKey) async throws(StoreError) -> [AppID: Registration]

    /// Returns the devices that have a registration, also an ended one, in the order of their IDs as unsigned numbers,
    /// each with all of its apps and what is in their mailboxes. Devices that change meanwhile may be on a page or not.
    /// - Parameters:
    ///   - device: the page begins after this ID, whether there is such a device or not; nil for the first page.
    ///   - limit: the largest number of devices.
    /// - Returns: At most `limit` devices; less if there are no more.
    func devices(
        in environment: Environment,
        after device: DeviceID?,
        limit: Int,
    ) async throws(StoreError) -> [ListedDevice]
}

/// An answer of ``KnownRegistrations/knownRegistration(of:)``.
package enum KnownRegistration: Sendable, Hashable {
    case registered(Registration)
    case neverRegistered

    /// The registration; nil if there never was one.
    package var registration: Registration? {
        if case .registered(let registration) = self { registration } else { nil }
    }
}

extension StoreError {
    /// One of the device's apps has used its last generation of device tokens, and no generation may be used again.
    package static func outOfTokens(_ device: DeviceID) -> StoreError {
        StoreError(.unavailable, "Device \(device) has used up its tokens: activate it again.")
    }
}
