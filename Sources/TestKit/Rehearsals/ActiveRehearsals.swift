package import Matching
package import Notifications

/// All active rehearsals, and the last ended ones. It is a value without a clock: the time is an argument.
package struct ActiveRehearsals: Sendable {
    private var entries: [Entry] = []
    private var lastNumber = 0

    private struct Entry {
        let id: String
        var rehearsal: ActiveRehearsal
        /// In machine uptime.
        let began: Duration
        /// The same moment on the service's clock, which is only shown.
        let time: Timestamp
        /// When it was ended, in machine uptime; nil if its time is still to run out.
        var ended: Duration?

        func isActive(at now: Duration) -> Bool { ended == nil && now - began < rehearsal.rehearsal.life }

        /// How long it is active, or was.
        var life: Duration { ended.map { $0 - began } ?? rehearsal.rehearsal.life }
    }

    /// A rehearsal as it is shown.
    package struct Shown: Sendable {
        package var id: String
        package var isActive: Bool
        package var began: Timestamp
        /// When its time is over, or when it was ended.
        package var ends: Timestamp
        package var rehearsal: ActiveRehearsal
    }

    /// The maximum number of active rehearsals.
    private let limit: Int

    package init(limit: Int = RehearsalLimits.active) { self.limit = limit }

    /// Begins a rehearsal.
    /// - Parameters:
    ///   - time: the moment that is shown as its beginning.
    ///   - now: the machine's uptime, as in every call.
    /// - Returns: its identifier; nil if `limit` rehearsals are active already.
    package mutating func begin(_ rehearsal: Rehearsal, time: Timestamp, now: Duration) -> String? {
        guard entries.count(where: { $0.isActive(at: now) }) < limit else { return nil }
        lastNumber += 1
        let id = "r\(lastNumber)"
        entries.append(Entry(id: id, rehearsal: ActiveRehearsal(rehearsal), began: now, time: time))
        while entries.count(where: { !$0.isActive(at: now) }) > RehearsalLimits.maximumEnded,
            let index = entries.firstIndex(where: { !$0.isActive(at: now) })
        {
            entries.remove(at: index)
        }
        return id
    }

    /// Ends a rehearsal. Its counts can still be read afterwards.
    /// - Returns: the rehearsal; nil if the identifier is unknown.
    package mutating func end(_ id: String, now: Duration) -> Shown? {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
        if entries[index].isActive(at: now) { entries[index].ended = now }
        return shown(entries[index], now)
    }

    /// All rehearsals, the oldest first.
    package func all(now: Duration) -> [Shown] { entries.map { shown($0, now) } }

    package func rehearsal(_ id: String, now: Duration) -> Shown? {
        entries.first { $0.id == id }.map { shown($0, now) }
    }

    /// Whether any rehearsal is active.
    package func isActive(now: Duration) -> Bool { entries.contains { $0.isActive(at: now) } }

    /// Decides about a request. All active rehearsals count it. If several fire, the oldest one decides.
    package mutating func decide(_ facts: RequestFacts, now: Duration) -> ActiveRehearsal.Firing? {
        var firing: ActiveRehearsal.Firing?
        var facts = facts
        if entries.contains(where: { $0.isActive(at: now) && $0.rehearsal.comparesPayloads }) { facts.parsePayload() }
        for index in entries.indices where entries[index].isActive(at: now) {
            let age = now - entries[index].began
            let fired = entries[index].rehearsal.decide(facts, age: age, isDecided: firing != nil)
            firing = firing ?? fired
        }
        return firing
    }

    /// Decides about the TLS handshake of a new connection, in the same way as about a request.
    package mutating func decide(_ connection: ConnectionFacts, now: Duration) -> ActiveRehearsal.HandshakeFiring? {
        var firing: ActiveRehearsal.HandshakeFiring?
        for index in entries.indices where entries[index].isActive(at: now) {
            let age = now - entries[index].began
            let fired = entries[index].rehearsal.decide(connection, age: age, isDecided: firing != nil)
            firing = firing ?? fired
        }
        return firing
    }

    /// Decides about a new connection after its handshake.
    /// - Returns: whether to refuse the connection.
    package mutating func refuses(
        _ environment: Environment,
        _ interface: ProviderInterface,
        now: Duration,
    ) -> Bool {
        var isRefused = false
        for index in entries.indices where entries[index].isActive(at: now) {
            let age = now - entries[index].began
            let refuses = entries[index].rehearsal.refuses(environment, interface, age: age, isDecided: isRefused)
            isRefused = isRefused || refuses
        }
        return isRefused
    }

    private func shown(_ entry: Entry, _ now: Duration) -> Shown {
        Shown(
            id: entry.id, isActive: entry.isActive(at: now), began: entry.time,
            ends: entry.time.advanced(by: entry.life), rehearsal: entry.rehearsal)
    }
}
