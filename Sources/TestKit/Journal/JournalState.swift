import DequeModule
import Matching
import Notifications

/// The entries of the journal, and the watchers that follow them. It is a value without locks and without a clock.
struct JournalState {
    /// How many requests are kept; 0 if the journal is off.
    private(set) var keep = 0
    private(set) var bytes = 0
    /// The entries in the order of their numbers.
    private var entries = Deque<JournalEntry>()
    /// The number of the newest entry for each notification and device.
    private var numbers: [Subject: UInt64] = [:]
    /// The connections that ended without a request, the oldest first.
    private var unused = Deque<UnusedConnection>()
    /// The requests that were not processed, by connection, the oldest first.
    private var unprocessed = Deque<UnprocessedRequests>()
    /// The greatest number of an entry of each team that was removed; nil stands for entries without a known team.
    private var lastForgotten: [TeamID?: UInt64] = [:]
    private var handshakes = HandshakeHistory()
    private var watchers: [UInt64: Watcher] = [:]
    private(set) var lastNumber: UInt64 = 0
    private var lastWatcher: UInt64 = 0
    private(set) var hasEnded = false

    /// Identifies a notification to a device. The delivery log's events have these values.
    struct Subject: Hashable {
        let id: NotificationID
        let device: DeviceID
    }

    /// Receives each matching entry when it is complete, because a test that waits for a request also wants its
    /// answer.
    struct Watcher {
        let match: RequestMatch
        /// Called once for each entry, or for each change if `changes` is true; nil if only the number of entries
        /// matters.
        let onEntry: (@Sendable (JournalEntry) -> Void)?
        /// Whether to receive only new entries, before they are complete, and each entry again when it changes.
        var changes = false
        let count: Int
        let onCount: @Sendable () -> Void
        let onEnd: @Sendable () -> Void
        /// The numbers of the entries that match at present.
        var matched: Set<UInt64> = []

        /// Whether the watcher wants an entry that its match selects. A failed handshake is no request, so it counts only
        /// if the match asks for it.
        func wants(_ entry: JournalEntry) -> Bool {
            // A watcher of changes receives a request before its answer, and again with it.
            guard entry.isComplete || changes else { return false }
            return onEntry != nil || entry.facts.failedHandshake == nil || match.outcome == .failed
        }
    }

    /// The number of waits and streams that have begun and not ended.
    var watcherCount: Int { watchers.count }

    var isOn: Bool { keep > 0 }
    var count: Int { entries.count }

    /// - Returns: the number for the next request.
    mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    mutating func beginNumbers(after number: UInt64) { lastNumber = max(lastNumber, number) }

    mutating func setKeep(_ keep: Int) {
        self.keep = keep
        if !isOn { (unused, unprocessed, handshakes) = ([], [], HandshakeHistory()) }
        trim()
    }

    /// Adds an entry. Its number has to be greater than all others.
    mutating func append(_ entry: JournalEntry) {
        guard isOn else { return }
        entries.append(entry)
        bytes += entry.bytes
        if let device = entry.facts.device {
            numbers[Subject(id: entry.facts.apnsID, device: device)] = entry.facts.number
        }
        notifyWatchers(of: entry)
        trim()
    }

    /// The number of the newest request for which there was no room any more; 0 if there was room for all.
    private(set) var lastDropped: UInt64 = 0

    private mutating func trim() {
        while entries.count > keep || bytes > JournalLimits.bytes, let oldest = entries.popFirst() {
            lastDropped = oldest.facts.number
            forget(oldest)
        }
    }

    private mutating func forget(_ entry: JournalEntry) {
        bytes -= entry.bytes
        lastForgotten[entry.facts.team] = max(lastForgotten[entry.facts.team] ?? 0, entry.facts.number)
        if lastForgotten.count > JournalLimits.forgottenTeams {
            // An unknown team may be any, so the report rather leaves out a connection than blames it wrongly.
            lastForgotten = [nil: lastForgotten.values.max() ?? 0]
        }
        if let device = entry.facts.device {
            let subject = Subject(id: entry.facts.apnsID, device: device)
            if numbers[subject] == entry.facts.number { numbers[subject] = nil }
        }
        for watcher in watchers.keys { watchers[watcher]?.matched.remove(entry.facts.number) }
    }

    /// Changes the entry with this number, if it is still there.
    /// - Parameter change: changes the entry, and returns whether it changed anything.
    mutating func update(_ number: UInt64, _ change: (inout JournalEntry) -> Bool) {
        guard let index = index(of: number), change(&entries[index]) else { return }
        notifyWatchers(of: entries[index])
    }

    /// Changes the newest entry for a notification and device.
    mutating func update(_ subject: Subject, _ change: (inout JournalEntry) -> Bool) {
        guard let number = numbers[subject] else { return }
        update(number, change)
    }

    /// - Returns: the entry's index in `entries`; nil if no entry has this number.
    private func index(of number: UInt64) -> Int? {
        let index = firstIndex(from: number)
        return index < entries.count && entries[index].facts.number == number ? index : nil
    }

    /// The index of the first entry that has this number or a greater one.
    private func firstIndex(from number: UInt64) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].facts.number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The next entries after this number, oldest first.
    func entries(after number: UInt64, limit: Int) -> [JournalEntry] {
        let (next, overflow) = number.addingReportingOverflow(1)
        guard !overflow else { return [] }
        return Array(entries[firstIndex(from: next)...].prefix(limit))
    }

    /// Removes the entries that match.
    /// - Returns: the number of removed entries.
    mutating func remove(_ match: RequestMatch, _ examined: PayloadMatchCache) -> Int {
        unused.removeAll { match.matches($0) }
        unprocessed.removeAll { match.matches($0) }
        handshakes.remove(match)
        let before = entries.count
        var kept = Deque<JournalEntry>()
        for entry in entries {
            if examined.matches(entry.facts) { forget(entry) } else { kept.append(entry) }
        }
        entries = kept
        return before - kept.count
    }

    /// Records a connection that ended without a request, unless a rehearsal gave its client a cause for that.
    mutating func append(_ connection: UnusedConnection) {
        guard isOn, !handshakes.isDisturbed(connection.number) else { return }
        if unused.count >= JournalLimits.unusedConnections { unused.removeFirst() }
        unused.append(connection)
    }

    mutating func append(_ requests: UnprocessedRequests) {
        guard isOn else { return }
        if unprocessed.count >= JournalLimits.unprocessedConnections { unprocessed.removeFirst() }
        unprocessed.append(requests)
    }

    /// The requests that match and were not processed, by connection. Only those of which the journal has forgotten
    /// nothing that came after them: otherwise nobody can say whether they were sent again.
    func unprocessedRequests(_ match: RequestMatch) -> [UnprocessedRequests] {
        unprocessed.filter { requests in
            // A request without a known team may have been of any.
            match.matches(requests)
                && !lastForgotten.contains { team, number in
                    (team == requests.team || team == nil || requests.team == nil) && number > requests.after
                }
        }
    }

    /// Records the result of a handshake. One that failed becomes an entry.
    mutating func append(_ connection: ConnectionFacts, _ result: HandshakeResult, at time: Timestamp) {
        guard isOn else { return }
        guard result != .completed else { return handshakes.append(connection, result, number: nil) }
        var entry = JournalEntry(RequestFacts(connection, result, at: time))
        entry.facts.number = nextNumber()
        entry.rule = connection.rule
        // The report has this connection already, with its completed handshake.
        if !result.isAfterHandshake { handshakes.append(connection, result, number: entry.facts.number) }
        append(entry)
    }

    /// The handshakes that failed or that a rehearsal disturbed, the oldest first.
    var handshakeRecords: [HandshakeRecord] { handshakes.records }

    /// How many of the remembered connections without a request match.
    func unusedCount(_ match: RequestMatch) -> Int { unused.count { match.matches($0) } }
}

// MARK: - Watchers

extension JournalState {
    /// Adds a watcher, and gives it the existing entries at once.
    /// - Parameter examined: the watcher's match, after the payloads of the existing entries were compared.
    /// - Returns: the watcher's name, for removing it.
    mutating func add(_ watcher: Watcher, _ examined: PayloadMatchCache) -> UInt64 {
        lastWatcher += 1
        var watcher = watcher
        if !watcher.changes {
            for entry in entries where watcher.wants(entry) && examined.matches(entry.facts) {
                Self.show(entry, matches: true, to: &watcher)
            }
        }
        watchers[lastWatcher] = watcher
        if hasEnded { watcher.onEnd() }
        // If enough entries exist already, the watcher need not wait.
        if watcher.onEntry == nil, watcher.matched.count >= watcher.count, watcher.count > 0 { watcher.onCount() }
        return lastWatcher
    }

    mutating func end() {
        hasEnded = true
        for watcher in watchers.values { watcher.onEnd() }
    }

    /// - Returns: the numbers of the entries that match, if the watcher gets their number only.
    mutating func removeWatcher(_ name: UInt64) -> Set<UInt64> { watchers.removeValue(forKey: name)?.matched ?? [] }

    /// The entries with these numbers, oldest first.
    /// - Parameter limit: the maximum number of entries.
    func entries(_ numbers: Set<UInt64>, limit: Int) -> [JournalEntry] {
        numbers.sorted().prefix(limit).compactMap { number in index(of: number).map { entries[$0] } }
    }

    private mutating func notifyWatchers(of entry: JournalEntry) {
        guard !watchers.isEmpty else { return }
        // Parse the payload once for all watchers. The entry is kept without it, because it takes much more memory.
        var facts = entry.facts
        if watchers.values.contains(where: { $0.match.payload != nil && $0.wants(entry) }) { facts.parsePayload() }
        for name in watchers.keys {
            guard var watcher = watchers[name] else { continue }
            let matches = watcher.wants(entry) && watcher.match.matches(facts)
            // A watcher of changes keeps no state, so do not write it back: at full load this code runs often.
            if watcher.changes {
                Self.show(entry, matches: matches, to: &watcher)
                continue
            }
            watchers[name] = nil
            let before = watcher.matched.count
            Self.show(entry, matches: matches, to: &watcher)
            watchers[name] = watcher
            if watcher.onEntry == nil, watcher.matched.count > before, watcher.count > 0,
                watcher.matched.count >= watcher.count
            {
                watcher.onCount()
            }
        }
    }

    private static func show(_ entry: JournalEntry, matches: Bool, to watcher: inout Watcher) {
        guard matches else {
            if watcher.onEntry == nil { watcher.matched.remove(entry.facts.number) }
            return
        }
        guard let onEntry = watcher.onEntry else {
            watcher.matched.insert(entry.facts.number)
            return
        }
        if watcher.changes { return onEntry(entry) }
        guard watcher.matched.insert(entry.facts.number).inserted else { return }
        onEntry(entry)
    }
}
