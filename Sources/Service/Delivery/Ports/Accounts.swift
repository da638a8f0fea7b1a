package import Storage

/// Teams with their apps, keys and certificates, revoked devices, and administrators' certificates, as a snapshot in
/// memory that requests read without waiting. ``AccountsSnapshot/applying(_:nextAppID:)`` decides which changes are
/// allowed.
///
/// A deleted app is unreachable as soon as the change is applied. Its number is never used again, so none of its
/// device tokens can ever name another app. ``Registrations/removeOrphaned(limit:)`` removes its data.
package protocol Accounts: Sendable {
    /// The accounts as this node knows them.
    var current: AccountsSnapshot { get }

    /// Whether ``current`` can be relied on. It is false if this node has not received changes for
    /// ``AccountsLimits/maximumSilence``: an identity that it trusts may have been revoked, so the provider APIs and the
    /// courier refuse everybody until the node hears from the store again. It is always true for a store that only
    /// this process can change.
    var isCurrent: Bool { get }

    /// Applies a change to this version of the accounts, or to the newest one if the version is nil.
    /// - Throws: ``StoreError/Code/conflict`` if the accounts have a newer version; ``StoreError/Code/exists`` or
    ///   ``StoreError/Code/missing``, depending on the change.
    /// - Returns: The accounts after the change. ``current`` returns them as well from now on.
    func apply(_ change: AccountChange, to version: UInt64?) async throws(StoreError) -> AccountsSnapshot

    /// Returns a stream of all snapshots, beginning with the current one. A slow reader gets only the newest.
    func changes() -> AsyncStream<AccountsSnapshot>
}

extension Accounts {
    /// Applies a change to the newest version of the accounts.
    package func apply(_ change: AccountChange) async throws(StoreError) -> AccountsSnapshot {
        try await apply(change, to: nil)
    }
}

package enum AccountsLimits {
    /// The time for which a node uses the accounts that it last knew. A cluster's store exchanges messages several
    /// times within it, so that a short network failure or a failover of the store does not refuse anybody. A longer
    /// time would delay revocations too much.
    package static let maximumSilence = Duration.seconds(30)
}

extension StoreError {
    /// The change was meant for an older version of the accounts.
    package static let accountsHaveChanged = StoreError(
        .conflict, "The accounts have changed meanwhile: read them again and repeat the change.")
}
