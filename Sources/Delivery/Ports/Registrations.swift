package import Notifications

/// What can be said of registrations without waiting. The delivery log asks it under locks of its callers.
///
/// What is said is right, or was a moment ago: whoever stores for a registration is told by the store whether it is still
/// active (``Mailboxes/store(_:)``). Where every registration is known, as in a store that one process has for itself,
/// nothing waits; elsewhere `Delivery` keeps a connection's notifications in their order while it looks one up.
package protocol KnownRegistrations: Sendable {
    /// Nil where the store has to be asked with ``Registrations/lookUp(_:)``.
    func known(_ destination: Destination) -> KnownRegistration?

    /// The same of several, in their order: where many are registered, looking for one is mostly waiting for memory, and
    /// the waits for several can pass together.
    func known(_ destinations: [Destination]) -> [KnownRegistration?]
}

extension KnownRegistrations {
    package func known(_ destinations: [Destination]) -> [KnownRegistration?] { destinations.map(known) }
}

/// Which apps are on which devices, and with which device token.
///
/// Each call that changes something does all that it says at once: whoever asks sees all of it or nothing, and so does the
/// next start after a crash.
package protocol Registrations: KnownRegistrations {
    /// The registrations of the given destinations, in their order; nil where there never was one.
    func lookUp(_ destinations: [Destination]) async throws(StoreError) -> [Registration?]

    /// Makes the registration active: the one that is there, its token unchanged, or a first one of generation 1. At once
    /// with it the device token leaves its feedback list.
    /// - Parameter tokenKeyID: seals the token of a first registration.
    /// - Throws: ``StoreError/Code/revoked`` when the accounts say, at the moment of writing, that the device was revoked. So
    ///   whoever revokes a device and then ends its registrations leaves none behind.
    func register(
        _ destination: Destination,
        tokenKeyID: UInt32,
        at moment: Timestamp,
    ) async throws(StoreError) -> Registration

    /// Ends the registration and empties its mailbox at once: nothing that is being stored meanwhile stays behind
    /// (``Mailboxes/store(_:)``). Harmless where it has ended already.
    /// - Returns: The registration as it now is; nil where there never was one.
    func end(_ destination: Destination, at moment: Timestamp) async throws(StoreError) -> Registration?

    /// Gives each of the device's registrations a new generation, sealed with the named key, inactive until the app
    /// registers again, and empties their mailboxes: all of them at once, or none.
    func renewTokens(of device: DeviceKey, tokenKeyID: UInt32, at moment: Timestamp) async throws(StoreError)

    /// Removes the registrations of apps that are not in the accounts, with their mailboxes and feedback entries; an app
    /// that is deleted meanwhile may be left for the next call. It is of no use to anybody any more: the gateways refuse
    /// its device tokens.
    /// - Parameter limit: how many registrations at most; what is left is removed by the next call, also after a restart.
    /// - Returns: How many were removed; fewer than `limit` when there is no more.
    func removeOrphaned(limit: Int) async throws(StoreError) -> Int

    /// The device's apps that have or had a registration.
    func registrations(of device: DeviceKey) async throws(StoreError) -> [AppID: Registration]
}

/// What ``KnownRegistrations/known(_:)`` can say at once.
package enum KnownRegistration: Sendable, Hashable {
    case registered(Registration)
    case neverRegistered

    /// Nil where there never was one.
    package var registration: Registration? {
        if case .registered(let registration) = self { registration } else { nil }
    }
}

extension StoreError {
    /// One of the device's apps is at the last generation of device tokens, and none may ever come again.
    package static func outOfTokens(_ device: DeviceID) -> StoreError {
        StoreError(.unavailable, "Device \(device) has used up its tokens: activate it again.")
    }
}
