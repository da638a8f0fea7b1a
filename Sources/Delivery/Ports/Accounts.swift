/// Teams, their apps, keys and certificates, and who is trusted no more: a snapshot in memory, which requests read
/// without waiting. What a change may do is decided by ``AccountsSnapshot/applying(_:nextAppID:)``.
///
/// A deleted app is unreachable from the change on. Its number is never used again, so no device token that was given out
/// for it can name another app. ``Registrations/removeOrphaned(limit:)`` removes what it leaves behind.
package protocol Accounts: Sendable {
    /// The accounts as this node knows them.
    var current: AccountsSnapshot { get }

    /// Whether ``current`` may be relied upon. False once this node has been cut off from the changes for
    /// ``AccountsLimits/maximumSilence``: what it trusts may have been revoked, so the gateways and the courier refuse
    /// everybody until it hears from the store again. Always true for a store that only this process can change.
    var isCurrent: Bool { get }

    /// Applies a change to the given version of the accounts; nil for whichever is the newest.
    /// - Throws: ``StoreError/Code/conflict`` when the accounts have moved on, ``StoreError/Code/exists`` and
    ///   ``StoreError/Code/missing`` as the change demands.
    /// - Returns: The accounts after the change, which ``current`` shows as well from then on.
    func apply(_ change: AccountChange, to version: UInt64?) async throws(StoreError) -> AccountsSnapshot

    /// Every snapshot from now on, the present one first; a reader that is slow sees the newest only.
    func changes() -> AsyncStream<AccountsSnapshot>
}

extension Accounts {
    /// Applies a change to the newest version of the accounts.
    package func apply(_ change: AccountChange) async throws(StoreError) -> AccountsSnapshot {
        try await apply(change, to: nil)
    }
}

package enum AccountsLimits {
    /// How long a node goes on with the accounts as it last knew them. A store of a cluster is asked, or says, several
    /// times in that time whether there is anything new, so that a network's hiccup or a store's failover refuses nobody;
    /// and nobody wants to wait for longer until a revocation is in effect.
    package static let maximumSilence = Duration.seconds(30)
}

extension StoreError {
    /// A change was to be applied to a version of the accounts that is no longer the newest.
    package static let accountsHaveChanged = StoreError(
        .conflict, "The accounts were changed meanwhile: look at them and try again.")
}
