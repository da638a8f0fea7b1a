@testable import Delivery
import Notifications
import Storage

/// Mailboxes that keep more than one notification.
extension DeliverySimulation {
    struct Kept {
        let stored: StoredMailboxEntry
        let time: Timestamp
    }

    func keeps(_ destination: Destination) -> Bool {
        destination.isSubscription || keep > 1 && destination.app == AppID(rawValue: 2)
    }

    /// The contents of all mailboxes.
    var contents: [StoredMailboxEntry] { Array(mailboxes.values) + kept.values.joined().map(\.stored) }

    /// What a notification removes from its mailbox: the one with the same collapse identifier, and the oldest if it is full.
    private func removed(by entry: MailboxEntry) -> (collapsed: [Kept], dropped: [Kept]) {
        let held = kept[entry.destination, default: []]
        guard !held.contains(where: { $0.stored.entry.notification.id == entry.notification.id }) else {
            return ([], [])
        }
        let collapseID = entry.notification.collapseID
        let collapsed = held.filter { collapseID != nil && $0.stored.entry.notification.collapseID == collapseID }
        let rest = held.filter { other in !collapsed.contains { $0.stored.version == other.stored.version } }
        return (collapsed, Array(rest.prefix(max(0, rest.count + 1 - keep))))
    }

    /// Whether a notification would remove another that was stored since it was accepted.
    func isKeptOvertaken(_ entry: MailboxEntry) -> Bool {
        guard entry.age != nil || entry.waited != nil,
            let accepted = records[Int(entry.notification.number) - 1].accepted
        else { return false }
        let (collapsed, dropped) = removed(by: entry)
        return (collapsed + dropped).contains { $0.time >= accepted.time }
    }

    func commitKept(_ entry: MailboxEntry) -> MailboxVersion {
        let number = entry.notification.number
        let held = kept[entry.destination, default: []]
        if let same = held.first(where: { $0.stored.entry.notification.id == entry.notification.id }) {
            return same.stored.version
        }
        for other in held.map(\.stored.entry.notification.number)
        where precedes(number, other) && records[Int(number) - 1].connection == records[Int(other) - 1].connection {
            problems.append("\(number) was stored behind the newer \(other)")
        }
        let (collapsed, dropped) = removed(by: entry)
        for other in collapsed { recordReplaced(other.stored.entry.notification.number, by: number) }
        for other in dropped { records[Int(other.stored.entry.notification.number) - 1].isDropped = true }
        lastVersion += 1
        stores += 1
        let version = MailboxVersion(kept: lastVersion)
        let gone = Set((collapsed + dropped).map(\.stored.version))
        kept[entry.destination] =
            held.filter { !gone.contains($0.stored.version) && fault != .keepsNewestAlone }
            + [Kept(stored: StoredMailboxEntry(entry: entry, version: version), time: now)]
        records[Int(number) - 1].wasStored = true
        recordSafe(number)
        return version
    }

    func removeKept(_ reference: MailboxReference) {
        guard let held = kept[reference.destination]?.first(where: { $0.stored.version == reference.version })?.stored
        else { return }
        let number = held.entry.notification.number
        if !records[Int(number) - 1].wasReceived && held.entry.expires > now {
            problems.append("\(number) was removed though the device never had it")
        }
        kept[reference.destination]?.removeAll { $0.stored.version == reference.version }
    }

    /// Gives the notifications of a mailbox each other's places.
    func readBackwards(_ stored: StoredMailboxEntry) -> StoredMailboxEntry {
        guard stored.version.isKept, let all = kept[stored.entry.destination]?.map(\.stored),
            let place = all.firstIndex(where: { $0.version == stored.version })
        else { return stored }
        return all[all.count - 1 - place].version == stored.version
            ? stored : StoredMailboxEntry(entry: all[all.count - 1 - place].entry, version: stored.version)
    }
}
