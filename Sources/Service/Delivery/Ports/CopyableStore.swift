package import Notifications
package import Storage

/// A store whose whole contents can be read, and that can be filled from another one. Only `carillon store copy` uses
/// it, on stores that nobody else uses meanwhile.
///
/// Broadcast channels and the mark of the attempts are copied through their own ports.
package protocol CopyableStore: Store {
    /// The names of all secrets.
    var secretNames: Set<SecretName> { get }

    /// Whether the store is a copy that was not completed.
    func isUnfinishedCopy() async throws(StoreError) -> Bool

    // MARK: Reading

    func copiedAccounts() async throws(StoreError) -> CopiedAccounts

    func copiedInvitations() async throws(StoreError) -> [Invitation]
    /// Returns used invitations in the order of their digests.
    /// - Parameter digest: the page begins after it; nil for the first page.
    func copiedUsedInvitations(after digest: [UInt8]?, limit: Int) async throws(StoreError) -> [UsedInvitation]

    /// The number of registrations, for the progress bar.
    func countDestinations() async throws(StoreError) -> Int

    /// Returns registrations with their mailboxes, in the store's own order.
    /// - Parameter destination: the page begins after it; nil for the first page.
    func copiedDestinations(
        after destination: Destination?,
        limit: Int,
    ) async throws(StoreError) -> [CopiedDestination]

    /// Returns Web Push subscriptions, in the store's own order.
    /// - Parameter subscription: the page begins after it; nil for the first page.
    func copiedSubscriptions(
        after subscription: WebPushSubscription?,
        limit: Int,
    ) async throws(StoreError) -> [WebPushSubscription]

    /// Returns what mailboxes hold that keep more than one notification, in the store's own order.
    /// - Parameter reference: the page begins after it; nil for the first page.
    func copiedKept(after reference: MailboxReference?, limit: Int) async throws(StoreError) -> [StoredMailboxEntry]

    /// Returns the entries of a feedback list after the mark, the oldest first.
    func copiedFeedback(
        _ list: FeedbackList,
        after mark: FeedbackMark?,
        limit: Int,
    ) async throws(StoreError) -> [CopiedFeedback]

    /// Returns the held notifications after a number, in the order of their numbers.
    func copiedHeld(after number: Int64, limit: Int) async throws(StoreError) -> [HeldPush]

    /// Returns those that release 0.2.0 has left in clear, likewise.
    func copiedClearHeld(after number: Int64, limit: Int) async throws(StoreError) -> [HeldPush]

    // MARK: Writing

    /// Marks the store as an unfinished copy, which no service can use. Removes what an earlier, unfinished copy of the
    /// same source has left: the source may have changed since.
    /// - Parameter source: identifies the source.
    /// - Throws: ``StoreError/Code/exists`` if the store has contents of its own, or those of another source.
    func beginCopy(of source: Int64) async throws(StoreError)

    /// Writes into the empty store.
    func fill(_ accounts: CopiedAccounts) async throws(StoreError)
    func fill(_ invitations: [Invitation]) async throws(StoreError)
    func fill(_ invitations: [UsedInvitation]) async throws(StoreError)
    func fill(_ destinations: [CopiedDestination]) async throws(StoreError)
    /// Their registrations are there already.
    func fill(_ subscriptions: [WebPushSubscription]) async throws(StoreError)
    /// Their registrations and subscriptions are there already.
    func fill(kept entries: [StoredMailboxEntry]) async throws(StoreError)
    func fill(_ feedback: [CopiedFeedback]) async throws(StoreError)

    /// The copy is complete, and a service can use it.
    func endCopy() async throws(StoreError)
}

package struct CopiedAccounts: Sendable, Hashable {
    package let snapshot: AccountsSnapshot
    /// The number of the newest app, whether it still exists or not. No app may get it again.
    package let lastApp: AppID

    package init(snapshot: AccountsSnapshot, lastApp: AppID) {
        self.snapshot = snapshot
        self.lastApp = lastApp
    }
}

package struct CopiedDestination: Sendable, Hashable {
    package let destination: Destination
    package let registration: Registration
    /// The newest notification; nil if the mailbox is empty, or keeps more than one.
    package let mailbox: StoredMailboxEntry?

    package init(destination: Destination, registration: Registration, mailbox: StoredMailboxEntry?) {
        self.destination = destination
        self.registration = registration
        self.mailbox = mailbox
    }
}

package struct CopiedFeedback: Sendable, Hashable {
    package let mark: FeedbackMark
    package let entry: FeedbackEntry

    package init(mark: FeedbackMark, entry: FeedbackEntry) {
        self.mark = mark
        self.entry = entry
    }
}

extension StoreError {
    /// The store is not empty.
    package static let notEmpty = StoreError(
        .exists, "It is not empty: name an empty store, or the unfinished copy of the same source.")
    /// A service may not use the store.
    package static let unfinishedCopy = StoreError(
        .unreadable,
        "It is an unfinished copy of another store: run carillon store copy again until it ends well.")
}
