import Delivery
import Notifications
import PostgresClient
import PostgresSupport
import Storage

/// An entry to store, with the time of its acceptance.
struct TimedEntry: Sendable {
    let entry: MailboxEntry
    /// When it was accepted at the latest; nil if it may have been stored before.
    let accepted: ContinuousClock.Instant?

    /// - Parameter now: when the store got the entry.
    init(_ entry: MailboxEntry, at now: ContinuousClock.Instant) {
        self.entry = entry
        accepted = entry.waited.map { now - $0 }
    }
}

/// The entries of a batch for one destination, in their order. Each replaces the one before, so only the last one is
/// written.
struct EntryChain {
    let destination: Destination
    private(set) var entries: [MailboxEntry]
    private(set) var last: TimedEntry

    private init(_ first: TimedEntry) {
        (destination, entries, last) = (first.entry.destination, [first.entry], first)
    }

    private mutating func append(_ next: TimedEntry) {
        entries.append(next.entry)
        last = next
    }

    /// Returns the chains in the order in which all transactions lock rows.
    static func chains(of entries: [TimedEntry]) -> [EntryChain] {
        var chains: [Destination: EntryChain] = [:]
        for entry in entries where chains[entry.entry.destination]?.append(entry) == nil {
            chains[entry.entry.destination] = EntryChain(entry)
        }
        return chains.values.sorted { Destination.isOrderedInTable($0.destination, $1.destination) }
    }

    /// Returns the results in the order of the entries. Those of one chain have consecutive versions.
    /// - Parameter outcomes: for each destination, the version of the last entry.
    static func results(
        of entries: [TimedEntry],
        _ chains: [EntryChain],
        _ outcomes: [Destination: Result<MailboxVersion, StoreError>],
    ) -> [Result<MailboxVersion, StoreError>] {
        var later = Dictionary(
            uniqueKeysWithValues: chains.map { ($0.destination, UInt64(clamping: $0.entries.count)) })
        return entries.map { entry in
            let destination = entry.entry.destination
            later[destination, default: 1] -= 1
            let outcome = outcomes[destination] ?? .failure(StoreError(.unknown, "PostgreSQL did not answer."))
            return outcome.map { MailboxVersion(rawValue: $0.rawValue &- later[destination, default: 0]) }
        }
    }

    /// Returns what was replaced: the first entry replaced the mailbox's contents, and each further entry the one before.
    /// - Parameter row: has the old contents' identifier, topic and collapse identifier from column 4 on.
    func replaced(_ row: PostgresRow) -> [EndedNotification] {
        guard let first = entries.first else { return [] }
        var ended: [EndedNotification] = []
        if let id = row.bytes(4).flatMap(NotificationID.init(column:)), id != first.notification.id {
            let isCoalesced = first.notification.collapseID.map { Array($0.rawValue.utf8) == row.bytes(6) } ?? false
            ended.append(
                EndedNotification(
                    id: id, destination: destination, topic: row.text(5) ?? "",
                    step: isCoalesced
                        ? .coalesced(into: first.notification.id) : .replaced(by: first.notification.id)))
        }
        for (older, newer) in zip(entries, entries.dropFirst()) where older.notification.id != newer.notification.id {
            let stored = StoredMailboxEntry(entry: older, version: MailboxVersion(rawValue: 0))
            ended.append(EndedNotification(stored, older.notification.step(onReplacementBy: newer.notification)))
        }
        return ended
    }
}
