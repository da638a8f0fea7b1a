import Delivery
import Notifications
import PostgresClient
import PostgresSupport
import Storage

/// What became of each entry of a call that stores.
typealias StoringOutcomes = [TimedEntry.Position: Result<MailboxVersion, StoreError>]

/// An entry to store, with the time of its acceptance.
struct TimedEntry: Sendable {
    /// Names the entry among those of the call. Statements store the entries in other orders, and some of them again.
    struct Position: Sendable, Hashable, Comparable {
        private let index: Int

        init(_ index: Int) { self.index = index }

        static func < (left: Position, right: Position) -> Bool { left.index < right.index }
    }

    let position: Position
    let entry: MailboxEntry
    /// When it was accepted at the latest; nil if it may have been stored before.
    let accepted: ContinuousClock.Instant?

    /// - Parameter now: when the store got the entry.
    init(_ entry: MailboxEntry, at position: Position, now: ContinuousClock.Instant) {
        self.position = position
        self.entry = entry
        accepted = entry.waited.map { now - $0 }
    }
}

/// The entries of a batch that one row of a statement stores, in their order: those for one destination, of which each replaces the
/// one before, so only the last one is written. In a mailbox that keeps more, each entry is a chain of its own.
struct EntryChain {
    let destination: Destination
    private(set) var entries: [TimedEntry]
    private(set) var last: TimedEntry
    /// When the last one was accepted at the latest, by PostgreSQL's clock; nil if that is not known.
    private(set) var moment: DatabaseClock.Moment?

    private init(_ first: TimedEntry) {
        (destination, entries, last) = (first.entry.destination, [first], first)
    }

    private mutating func append(_ next: TimedEntry) {
        entries.append(next)
        last = next
    }

    func measured(by clock: DatabaseClock) -> EntryChain {
        var chain = self
        chain.moment = last.accepted.flatMap(clock.latest(at:))
        return chain
    }

    /// Returns the chains in the order in which all transactions lock rows.
    static func chains(of entries: [TimedEntry]) -> [EntryChain] {
        var chains: [Destination: EntryChain] = [:]
        for entry in entries where chains[entry.entry.destination]?.append(entry) == nil {
            chains[entry.entry.destination] = EntryChain(entry)
        }
        return chains.values.sorted { Destination.isOrderedInTable($0.destination, $1.destination) }
    }

    /// The same for mailboxes that keep more. Entries of one mailbox keep their order.
    static func singles(of entries: [TimedEntry]) -> [EntryChain] {
        entries.map(EntryChain.init).sorted { left, right in
            left.destination.ofApp == right.destination.ofApp
                ? left.last.position < right.last.position
                : Destination.isOrderedInTable(left.destination, right.destination)
        }
    }

    /// What became of each entry. They have consecutive versions.
    /// - Parameter outcome: what became of the last one.
    func outcomes(_ outcome: Result<MailboxVersion, StoreError>) -> StoringOutcomes {
        var outcomes: StoringOutcomes = [:]
        for (later, entry) in entries.reversed().enumerated() {
            outcomes[entry.position] = outcome.map {
                MailboxVersion(rawValue: $0.rawValue &- UInt64(clamping: later))
            }
        }
        return outcomes
    }

    /// Returns what was replaced: the first entry replaced the mailbox's contents, and each further entry the one before.
    /// - Parameter row: has the old contents' identifier, topic and collapse identifier from column 4 on.
    func replaced(_ row: PostgresRow) -> [EndedNotification] {
        guard let first = entries.first?.entry else { return [] }
        var ended: [EndedNotification] = []
        if let id = row.bytes(4).flatMap(NotificationID.init(column:)), id != first.notification.id {
            let isCoalesced = first.notification.collapseID.map { Array($0.rawValue.utf8) == row.bytes(6) } ?? false
            ended.append(
                EndedNotification(
                    id: id, destination: destination, topic: row.text(5) ?? "",
                    step: isCoalesced
                        ? .coalesced(into: first.notification.id) : .replaced(by: first.notification.id)))
        }
        let entries = entries.map(\.entry)
        for (older, newer) in zip(entries, entries.dropFirst()) where older.notification.id != newer.notification.id {
            let stored = StoredMailboxEntry(entry: older, version: MailboxVersion(rawValue: 0))
            ended.append(EndedNotification(stored, older.notification.step(onReplacementBy: newer.notification)))
        }
        return ended
    }
}
