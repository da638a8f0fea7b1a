@testable import Delivery
import Notifications
import Storage

/// The store. Its calls take effect at one time and are answered at another, and some fail.
extension DeliverySimulation {
    /// Moves one call to the store on by one stage.
    func callStep() {
        let busy = nodes.filter { !$0.calls.isEmpty }
        guard let node = busy.randomElement(using: &random),
            let index = node.calls.indices.randomElement(using: &random)
        else { return }
        switch node.calls.remove(at: index) {
        case .storing(var entries):
            for index in entries.indices {
                let number = Int(entries[index].notification.number)
                records[number - 1].firstStore = stores
                records[number - 1].isLate = entries[index].age != nil
                if !node.knowsClock { entries[index].waited = nil }
                if fault == .storesLate { entries[index].age = nil }
            }
            let results = entries.map { attempt($0, by: node) }
            let doubtful = results.indices.filter { Self.isUnknown(results[$0]) }
            node.calls.append(
                doubtful.isEmpty
                    ? .stored(results) : .storingAgain(entries, doubtful, results: results))
        case .storingAgain(let entries, let doubtful, var results):
            for index in doubtful {
                var entry = entries[index]
                if isCluster {
                    entry.waited = nil
                    entry.age = fault == .repeatsOverNewer ? nil : entry.age ?? .zero
                }
                let result = attempt(entry, by: node, isRepeated: true)
                if Self.isFinal(result) { results[index] = result }
            }
            let still = doubtful.filter { Self.isUnknown(results[$0]) }
            node.calls.append(
                still.isEmpty
                    ? .stored(results) : .storingAgain(entries, still, results: results))
        case .stored(let results):
            let actions = node.acceptances.stored(results, now: moment.uptime)
            node.startThread(node.advanced(actions, now: moment.uptime))
        case .reading(let device, let epoch):
            let fails = !node.isReachable || !isSettling && chance(3)
            node.calls.append(.read(device, epoch: epoch, fails ? nil : snapshot(of: device)))
        case .read(let device, let epoch, let entries):
            read(device, epoch: epoch, entries, by: node)
        case .attaching(let device, let stream, let entries):
            attach(stream, to: device, at: node, reading: entries)
        case .removing(let reference):
            if node.isReachable { remove(reference) }
        case .lookingUp(let connection):
            lookUp(connection, by: node)
        }
    }

    private func lookUp(_ connection: Connection, by node: Node) {
        if node.isReachable {
            for submission in node.lookUps[connection] ?? [] {
                node.known[submission.destination] = active.contains(submission.destination)
            }
        }
        lookedUp(connection, isAnswered: node.isReachable, on: node)
    }

    /// Whether it is uncertain that the notification was stored. `Delivery` then stores it again.
    private static func isUnknown(_ result: Result<MailboxVersion, StoreError>) -> Bool {
        if case .failure(let error) = result { error.code == .unknown } else { false }
    }

    /// Whether the result covers every attempt to store the same notification.
    private static func isFinal(_ result: Result<MailboxVersion, StoreError>) -> Bool {
        switch result {
        case .success: true
        case .failure(let error):
            switch error.code {
            case .ended, .conflict: true
            default: false
            }
        }
    }

    /// By how much the store may take the acceptance of a notification to be later than it was.
    private static let largestError = 3
    private static let clockError = Duration.milliseconds(largestError)

    /// Whether the mailbox holds another notification that was stored since this one was accepted. By the age, a real store
    /// compares times with a margin, and so refuses a little more.
    private func isOvertaken(_ entry: MailboxEntry) -> Bool {
        if keeps(entry.destination) { return isKeptOvertaken(entry) }
        let number = entry.notification.number
        guard let held = mailboxes[entry.destination], held.entry.notification.number != number,
            let accepted = records[Int(number) - 1].accepted, let stored = storedAt[entry.destination]
        else { return false }
        guard entry.waited != nil else { return entry.age != nil && stored.time >= accepted.time }
        switch fault {
        case .storesDelayed: return false
        case .refusesNewer: return stored.time.advanced(by: .seconds(20)) > accepted.time
        default:
            let error = Duration.milliseconds(Int.random(in: 0...Self.largestError, using: &random))
            return stored.time > accepted.time.advanced(by: error)
        }
    }

    /// Checks that a notification was refused rightly (rule 14).
    private func checkRefusal(_ entry: MailboxEntry) {
        let number = entry.notification.number
        guard !keeps(entry.destination), entry.waited != nil, let accepted = records[Int(number) - 1].accepted,
            let stored = storedAt[entry.destination], stored.count <= accepted.count
        else { return }
        problems.append("\(number) was refused, and was accepted after everything that had been stored")
    }

    /// Checks rule 13.
    private func checkOrder(_ entry: MailboxEntry, isRepeated: Bool) {
        let number = entry.notification.number
        let record = records[Int(number) - 1]
        guard isCluster, let held = mailboxes[entry.destination], held.entry.notification.number != number,
            let stored = storedAt[entry.destination], let accepted = record.accepted
        else { return }
        let other = held.entry.notification.number
        if isRepeated, let first = record.firstStore, stored.count > first {
            problems.append("\(number) was stored again over \(other), which was stored meanwhile")
        }
        let isOfOtherNode = record.connection.start != records[Int(other) - 1].connection.start
        if record.isLate, !isRepeated, isOfOtherNode, stored.time > accepted.time.advanced(by: Self.clockError) {
            problems.append("\(number) was stored late over \(other), which was stored meanwhile")
        }
        if entry.waited != nil, stored.time > accepted.time.advanced(by: Self.clockError) {
            problems.append(
                "\(number) was on its way for long, and was stored over \(other), which was stored meanwhile")
        }
    }

    private func attempt(
        _ entry: MailboxEntry, by node: Node, isRepeated: Bool = false
    ) -> Result<MailboxVersion, StoreError> {
        guard node.isReachable else {
            return .failure(StoreError(chance(50) ? .unavailable : .unknown, "The store is not reached."))
        }
        guard !isOvertaken(entry) else {
            checkRefusal(entry)
            return .failure(.overtaken)
        }
        checkOrder(entry, isRepeated: isRepeated)
        switch isSettling ? 99 : Int.random(in: 0..<100, using: &random) {
        case 0..<6: return .failure(StoreError(.unavailable, "The disk is full."))
        case 6..<10: return .failure(StoreError(.unknown, "No answer."))
        case 10..<16:
            _ = commit(entry)
            return .failure(StoreError(.unknown, "No answer."))
        default:
            let result = commit(entry)
            if case .failure = result { node.known[entry.destination] = false }
            return result
        }
    }

    /// From this moment the notification survives a crash.
    func commit(_ entry: MailboxEntry) -> Result<MailboxVersion, StoreError> {
        guard active.contains(entry.destination) || fault == .storesForRemoved else { return .failure(.ended(at: now)) }
        if keeps(entry.destination) { return .success(commitKept(entry)) }
        lastVersion += 1
        let version = MailboxVersion(rawValue: lastVersion)
        let number = entry.notification.number
        if let held = mailboxes[entry.destination] {
            let other = held.entry.notification.number
            if precedes(number, other) { problems.append("\(number) was stored over the newer \(other)") }
            if fault == .losesReplacement { return .success(version) }
            recordReplaced(other, by: number)
        }
        stores += 1
        storedAt[entry.destination] = (now, stores)
        mailboxes[entry.destination] = StoredMailboxEntry(entry: entry, version: version)
        records[Int(number) - 1].wasStored = true
        recordSafe(number)
        return .success(version)
    }

    func snapshot(of device: DeviceKey) -> [StoredMailboxEntry] {
        let contents = fault == .readsBackwards ? contents.map(readBackwards) : contents
        return
            contents
            .filter { $0.entry.destination.deviceKey == device }
            .sorted { $0.version.rawValue < $1.version.rawValue }
            .map(withFault)
    }

    /// A mailbox's content as the line sees it.
    func withFault(_ stored: StoredMailboxEntry) -> StoredMailboxEntry {
        var stored = stored
        if fault == .deliversExpired { stored.entry.expires = Timestamp(milliseconds: .max) }
        return stored
    }

    private func remove(_ reference: MailboxReference) {
        guard isSettling || !chance(10) else { return }
        if reference.version.isKept { return removeKept(reference) }
        guard let held = mailboxes[reference.destination],
            held.version == reference.version || fault == .removesWhateverIsThere
        else { return }
        let number = held.entry.notification.number
        if !records[Int(number) - 1].wasReceived && held.entry.expires > now {
            problems.append("\(number) was removed though the device never had it")
        }
        mailboxes[reference.destination] = nil
    }

    /// Removes expired notifications.
    func sweep() {
        for stored in mailboxes.values where stored.entry.expires < now {
            mailboxes[stored.entry.destination] = nil
        }
        for destination in kept.keys { kept[destination]?.removeAll { $0.stored.entry.expires < now } }
    }
}
