package import Delivery
package import Notifications
import Synchronization

/// All ports over values in memory, each behind a lock: for a service that keeps nothing. Nothing survives it.
package final class MemoryStore: Sendable {
    /// How many feedback entries all lists together may hold; beyond it the oldest go. As many as the embedded store
    /// keeps on disk; here they take some 200 MB when all of them are there.
    package static let defaultMaximumFeedbackEntries = 1_000_000

    /// The token keys and the certificate authority.
    package let secrets: any Secrets

    let devices = DeviceTable()
    let accounts = AccountsFeed(AccountsSnapshot())
    /// The number of the newest app, whether it is still there or not.
    let lastAppID = Mutex<UInt32>(0)
    let invitations = Mutex(InvitationList())
    /// Taken within a lock of ``devices``, never the other way round.
    let feedback: Mutex<FeedbackLists>
    let journal: MailboxJournal

    /// - Parameters:
    ///   - isShared: whether several nodes use it, as far as that is possible within one process.
    ///   - log: told what leaves the mailboxes otherwise than by a removal that was asked for.
    ///   - clock: tells the time, in milliseconds since 1970.
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

    /// There will be no more changes of the accounts.
    package func close() async { accounts.finish() }
}
