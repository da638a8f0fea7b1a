package import Delivery
package import Notifications
import Synchronization

/// A store in memory, for a service that stores nothing on disk. Each port has its own lock.
package final class MemoryStore: Sendable {
    /// The largest number of feedback entries in all lists together. If there are more, the oldest are removed. The
    /// embedded store keeps the same number on disk; here they take about 200 MB.
    package static let defaultMaximumFeedbackEntries = 1_000_000

    /// The token keys and the certificate authority.
    package let secrets: any Secrets

    let devices = DeviceTable()
    let accounts = AccountsFeed(AccountsSnapshot())
    /// The number of the newest app, even if that app was deleted.
    let lastAppID = Mutex<UInt32>(0)
    let invitations = Mutex(InvitationList())
    /// If both are needed, lock a shard of ``devices`` first, then this.
    let feedback: Mutex<FeedbackLists>
    /// If both are needed, lock a shard of ``devices`` first, then this.
    let channelTable = Mutex(ChannelTable())
    private let mark = Mutex<AttemptMark?>(nil)
    let journal: MailboxJournal

    /// - Parameters:
    ///   - isShared: whether several nodes in one process use the store, in tests.
    ///   - log: records notifications that the store itself removes from mailboxes, for example because they expire.
    ///   - clock: returns the time in milliseconds since 1970.
    package init(
        isShared: Bool = false,
        log: any DeliveryLog = NoDeliveryLog(),
        maximumFeedbackEntries: Int = defaultMaximumFeedbackEntries,
        clock: @escaping @Sendable () -> Timestamp = { Timestamp(milliseconds: 0) },
    ) {
        secrets = MemorySecrets(isShared: isShared)
        feedback = Mutex(FeedbackLists(limit: maximumFeedbackEntries))
        journal = MailboxJournal(log: log, clock: clock)
    }
}

extension MemoryStore: Store {
    package var knownRegistrations: any KnownRegistrations { devices }

    package var broadcastChannels: any Channels { self }

    /// Ends the stream of account changes.
    package func close() async { accounts.finish() }
}

extension MemoryStore: AttemptNumbers {
    package func attemptMark() async throws(StoreError) -> AttemptMark? { mark.withLock { $0 } }

    package func keep(_ mark: AttemptMark) async throws(StoreError) {
        self.mark.withLock { kept in
            if mark.bound > kept?.bound ?? 0 { kept = mark }
        }
    }
}
