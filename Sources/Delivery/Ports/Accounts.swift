/// Teams, their apps, keys and certificates, and who is trusted no more: a snapshot in memory, which requests read
/// without waiting. What a change may do is decided by ``AccountsSnapshot/applying(_:nextAppID:)``.
///
/// A deleted app is unreachable from the change on. Its number is never used again, so no device token that was given out
/// for it can name another app. ``Registrations/removeOrphaned(limit:)`` removes what it leaves behind.
package protocol Accounts: Sendable {
    /// The accounts as this node knows them.
    var current: AccountsSnapshot { get }

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

extension StoreError {
    /// A change was to be applied to a version of the accounts that is no longer the newest.
    package static let accountsHaveChanged = StoreError(
        .conflict, "The accounts were changed meanwhile: look at them and try again.")
}
