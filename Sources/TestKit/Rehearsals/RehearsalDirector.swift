package import Matching
package import Notifications
import Synchronization

/// All rehearsals of the service, in the form that the provider APIs use. It makes ``ActiveRehearsals`` thread-safe.
package final class RehearsalDirector: RequestObserver {
    private let active: Mutex<ActiveRehearsals>
    /// The maximum number of active rehearsals.
    package let limit: Int
    private let next: any RequestObserver
    private let now: @Sendable () -> Duration
    private let watch = Mutex<Watch>(Watch())

    private struct Watch {
        weak var observation: RequestObservation?
    }

    /// - Parameters:
    ///   - next: the observer that gets every call after this one. It numbers connections and requests.
    ///   - limit: the maximum number of active rehearsals.
    ///   - now: returns the machine's uptime, which a virtual clock does not advance.
    package init(
        next: any RequestObserver, limit: Int = RehearsalLimits.active, now: @escaping @Sendable () -> Duration
    ) {
        active = Mutex(ActiveRehearsals(limit: limit))
        self.limit = limit
        self.next = next
        self.now = now
    }

    /// Makes the provider APIs report requests while a rehearsal is active.
    package func direct(_ observation: RequestObservation) { watch.withLock { $0.observation = observation } }

    // MARK: Rehearsals

    /// - Parameter time: the moment that is shown as its beginning.
    /// - Returns: the identifier; nil if ``limit`` rehearsals are active already.
    package func begin(_ rehearsal: Rehearsal, time: Timestamp) -> String? {
        let id = active.withLock { $0.begin(rehearsal, time: time, now: now()) }
        setWatching()
        return id
    }

    /// Ends a rehearsal.
    /// - Returns: the rehearsal with its counts; nil if the identifier is unknown.
    package func end(_ id: String) -> ActiveRehearsals.Shown? {
        let shown = active.withLock { $0.end(id, now: now()) }
        setWatching()
        return shown
    }

    /// All rehearsals, the oldest first.
    package var all: [ActiveRehearsals.Shown] { active.withLock { $0.all(now: now()) } }

    package func rehearsal(_ id: String) -> ActiveRehearsals.Shown? {
        active.withLock { $0.rehearsal(id, now: now()) }
    }

    private func setWatching() {
        // Hold the watch's lock during both steps. Otherwise a rehearsal that begins between them could be missed.
        watch.withLock { watch in
            let isActive = active.withLock { $0.isActive(now: now()) }
            watch.observation?.set(.rehearsals, isActive)
        }
    }

    // MARK: Called by the provider APIs

    package func connecting(_ connection: inout ConnectionFacts) {
        next.connecting(&connection)
        guard !connection.isRefused else { return }
        let (firing, isActive) = active.withLock { [connection] active in
            let now = now()
            return (active.decide(connection, now: now), active.isActive(now: now))
        }
        // The time of the last active rehearsal is over.
        if !isActive { setWatching() }
        guard let firing else { return }
        (connection.fault, connection.rule) = (firing.fault, firing.rule)
    }

    package func handshakeEnded(_ connection: ConnectionFacts, _ result: HandshakeResult) {
        next.handshakeEnded(connection, result)
    }

    package func refuses(_ environment: Environment, _ interface: ProviderInterface) -> Bool {
        active.withLock { $0.refuses(environment, interface, now: now()) } || next.refuses(environment, interface)
    }

    package func connectionOpened() -> UInt64 { next.connectionOpened() }

    package func connectionUnused(_ connection: UnusedConnection) { next.connectionUnused(connection) }

    package func unprocessed(_ requests: UnprocessedRequests) { next.unprocessed(requests) }

    package func decided(_ facts: RequestFacts) -> RequestDecision {
        let decision = next.decided(facts)
        var numbered = facts
        numbered.number = decision.number
        let (firing, isActive) = active.withLock { active in
            let now = now()
            return (active.decide(numbered, now: now), active.isActive(now: now))
        }
        // The time of the last active rehearsal is over.
        if !isActive { setWatching() }
        guard let firing else { return decision }
        next.ruleFired(decision.number, rule: firing.rule, firing.fault)
        return .misbehave(number: decision.number, firing.fault)
    }

    package func answered(_ number: UInt64, _ answer: RequestAnswer) { next.answered(number, answer) }

    package func ended(_ number: UInt64, as outcome: RequestOutcome) { next.ended(number, as: outcome) }

    package func compared(_ number: UInt64, own: String) { next.compared(number, own: own) }

    package func captured(_ number: UInt64) { next.captured(number) }

    package func created(_ number: UInt64, channel: ChannelID) { next.created(number, channel: channel) }

    package func unanswered(_ number: UInt64, isDiscarded: Bool) {
        next.unanswered(number, isDiscarded: isDiscarded)
    }
}

/// Numbers connections and requests, and does nothing else.
package final class RequestCounter: RequestObserver {
    private let connections = Atomic<UInt64>(0)
    private let requests = Atomic<UInt64>(0)

    package init() {}

    package func connecting(_ connection: inout ConnectionFacts) { connection.number = connectionOpened() }

    package func connectionOpened() -> UInt64 { connections.add(1, ordering: .relaxed).newValue }

    package func decided(_ facts: RequestFacts) -> RequestDecision {
        .proceed(number: requests.add(1, ordering: .relaxed).newValue)
    }

    package func answered(_ number: UInt64, _ answer: RequestAnswer) {}
    package func unanswered(_ number: UInt64, isDiscarded: Bool) {}
}
