@testable import Delivery
import Notifications

/// The store: calls take effect at one time and are answered at another, and some fail.
extension DeliverySimulation {
    /// One call to the store gets on by one stage.
    func callStep() {
        guard let index = calls.indices.randomElement(using: &random) else { return }
        switch calls.remove(at: index) {
        case .storing(let entries):
            let results = entries.map { attempt($0) }
            let doubtful = results.indices.filter { Self.isUnknown(results[$0]) }
            calls.append(
                doubtful.isEmpty
                    ? .stored(results) : .storingAgain(entries, doubtful, results: results))
        case .storingAgain(let entries, let doubtful, var results):
            for index in doubtful {
                if case .success(let version) = attempt(entries[index]) { results[index] = .success(version) }
            }
            let still = doubtful.filter { Self.isUnknown(results[$0]) }
            calls.append(
                still.isEmpty
                    ? .stored(results) : .storingAgain(entries, still, results: results))
        case .stored(let results):
            let actions = acceptances.stored(results, now: moment.uptime)
            startThread(advanced(actions))
        case .reading(let device, let epoch):
            let fails = !isSettling && chance(3)
            calls.append(.read(device, epoch: epoch, fails ? nil : snapshot(of: device)))
        case .read(let device, let epoch, let entries):
            read(device, epoch: epoch, entries)
        case .attaching(let device, let stream, let entries):
            attach(stream, to: device, reading: entries)
        case .removing(let reference):
            remove(reference)
        }
    }

    /// What may not have been stored is stored again, as `Delivery` does.
    private static func isUnknown(_ result: Result<MailboxVersion, StoreError>) -> Bool {
        if case .failure(let error) = result { error.code == .unknown } else { false }
    }

    private func attempt(_ entry: MailboxEntry) -> Result<MailboxVersion, StoreError> {
        switch isSettling ? 99 : Int.random(in: 0..<100, using: &random) {
        case 0..<6: return .failure(StoreError(.unavailable, "The disk is full."))
        case 6..<10: return .failure(StoreError(.unknown, "No answer."))
        case 10..<16:
            commit(entry)
            return .failure(StoreError(.unknown, "No answer."))
        default: return .success(commit(entry))
        }
    }

    /// The moment from which on it would survive.
    @discardableResult
    func commit(_ entry: MailboxEntry) -> MailboxVersion {
        lastVersion += 1
        let version = MailboxVersion(rawValue: lastVersion)
        let number = entry.notification.number
        if let held = mailboxes[entry.destination] {
            let other = held.entry.notification.number
            if other > number {
                problems.append("\(number) was stored over the newer \(other)")
            }
            if fault == .losesReplacement { return version }
        }
        mailboxes[entry.destination] = StoredMailboxEntry(entry: entry, version: version)
        records[Int(number) - 1].wasStored = true
        noteSafe(number)
        return version
    }

    func snapshot(of device: DeviceKey) -> [StoredMailboxEntry] {
        mailboxes.values
            .filter { $0.entry.destination.deviceKey == device }
            .sorted { $0.version.rawValue < $1.version.rawValue }
            .map(withFault)
    }

    /// What the line gets to see of a mailbox's content.
    func withFault(_ stored: StoredMailboxEntry) -> StoredMailboxEntry {
        var stored = stored
        if fault == .deliversExpired { stored.entry.expires = Timestamp(milliseconds: .max) }
        return stored
    }

    private func remove(_ reference: MailboxReference) {
        guard isSettling || !chance(10) else { return }
        guard let held = mailboxes[reference.destination],
            held.version == reference.version || fault == .removesWhateverIsThere
        else { return }
        let number = held.entry.notification.number
        if !records[Int(number) - 1].wasReceived && held.entry.expires > now {
            problems.append("\(number) was removed though the device never had it")
        }
        mailboxes[reference.destination] = nil
    }

    /// Removes what has expired.
    func sweep() {
        for stored in mailboxes.values where stored.entry.expires < now {
            mailboxes[stored.entry.destination] = nil
        }
    }
}
