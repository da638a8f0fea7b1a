package import Delivery
package import Matching
import Notifications
import Synchronization

/// Keeps the last requests of providers with their payloads, answers and outcomes.
///
/// Event loops and callers of the delivery log call it, sometimes while they hold locks. So it never waits. Under its
/// own lock it calls only continuations of streams, which do not wait either.
package final class RequestJournal: Sendable {
    private let state = Mutex(JournalState())
    private let connections = Atomic<UInt64>(0)
    /// Whether there is anything to look at for the delivery log.
    private let isOn = Atomic(false)

    package init() {}

    /// How many requests are kept; 0 if the journal is off.
    package var keep: Int { state.withLock { $0.keep } }

    /// Switches the journal on or off. What is there beyond the new number is forgotten, the oldest first.
    package func setKeep(_ keep: Int) {
        let keep = min(max(0, keep), JournalLimits.requests)
        state.withLock { $0.setKeep(keep) }
        isOn.store(keep > 0, ordering: .relaxed)
    }

    /// The requests that a match means, oldest first.
    package func requests(_ match: RequestMatch, limit: Int) -> [JournalEntry] {
        state.withLock { $0.entries(match, limit: limit) }
    }

    /// Forgets the requests that a match means.
    /// - Returns: how many that were.
    package func clear(_ match: RequestMatch = RequestMatch()) -> Int { state.withLock { $0.remove(match) } }
}

// MARK: - What happens

extension RequestJournal {
    /// Gives a new connection its number.
    package func nextConnection() -> UInt64 { connections.add(1, ordering: .relaxed).newValue }

    /// Takes a request that the gateway has decided about.
    /// - Returns: its number.
    package func append(_ facts: RequestFacts) -> UInt64 {
        state.withLock { state in
            var facts = facts
            facts.number = state.nextNumber()
            if state.isOn { state.append(JournalEntry(facts)) }
            return facts.number
        }
    }

    package func answered(_ number: UInt64, _ answer: RequestAnswer) {
        state.withLock { state in
            state.update(number) { entry in
                entry.answer(answer)
                return true
            }
        }
    }

    /// No answer comes.
    package func unanswered(_ number: UInt64, isDiscarded: Bool) {
        state.withLock { state in
            state.update(number) { entry in
                entry.isSettled = true
                if isDiscarded { _ = entry.become(.dropped) }
                return true
            }
        }
    }

    /// Notes the rule of a rehearsal that fired.
    package func note(rule: String, of number: UInt64) {
        state.withLock { state in
            state.update(number) { entry in
                entry.rule = rule
                return true
            }
        }
    }

    /// A request ends otherwise than the delivery log can say.
    package func end(_ number: UInt64, as outcome: RequestOutcome) {
        state.withLock { $0.update(number) { $0.become(outcome) } }
    }

    /// Learns what became of a notification.
    package func note(_ event: DeliveryEvent) {
        guard isOn.load(ordering: .relaxed), let outcome = RequestOutcome(event.step),
            case .destination(let destination, _) = event.subject.address, destination.environment == .development
        else { return }
        let subject = JournalState.Subject(id: event.subject.id, device: destination.device)
        state.withLock { $0.update(subject) { $0.become(outcome) } }
    }
}

extension RequestOutcome {
    /// Nil for a step that says nothing of the outcome.
    fileprivate init?(_ step: DeliveryStep) {
        switch step {
        case .accepted, .sent, .duplicate: return nil
        case .rejected: self = .rejected
        case .stored, .deferred, .throttled: self = .stored
        case .replaced, .coalesced: self = .replaced
        case .acknowledged: self = .delivered
        case .expired: self = .expired
        case .discarded: self = .dropped
        }
    }
}

// MARK: - Waiting

/// What a wait ends with.
package enum WaitResult: Sendable {
    /// Enough requests matched. With `count` 0: none matched until the timeout.
    case done([JournalEntry])
    /// - Parameters:
    ///   - matched: how many there are.
    ///   - nearest: those that differ least from what was wanted, and by which keys.
    case timedOut(matched: Int, nearest: [(entry: JournalEntry, differs: [String])])
}

extension RequestJournal {
    /// Waits until there are at least so many requests.
    /// - Parameters:
    ///   - count: 0 waits to the end, and is content if nothing matches then.
    ///   - limit: how many requests at most the result has, unless more were asked for.
    ///   - timeout: machine time.
    ///   - watch: given what ends the wait before its time.
    package func wait(
        for match: RequestMatch,
        count: Int,
        limit: Int,
        timeout: Duration,
        watch: (@escaping @Sendable () -> Void) -> Void,
    ) async -> WaitResult {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let finish = { @Sendable in continuation.finish() }
        watch(finish)
        let name = state.withLock {
            $0.add(JournalState.Watcher(match: match, onEntry: nil, count: count, onCount: finish, onEnd: finish))
        }
        let timer = Task {
            try await Task.sleep(for: timeout)
            finish()
        }
        for await _ in stream {}
        timer.cancel()
        return state.withLock { state in
            state.removeWatcher(name)
            let matched = state.settledCount(match)
            if count == 0 ? matched == 0 : matched >= count {
                return .done(state.entries(match, limit: max(limit, count)))
            }
            return .timedOut(matched: matched, nearest: state.nearest(match))
        }
    }

    /// The requests that a match means, those that are there and those to come, each once it is settled. The stream ends
    /// when its reader falls behind.
    /// - Parameters:
    ///   - changes: leaves out those that are there, and shows a request again whenever it changes.
    ///   - watch: given what ends the stream.
    package func follow(
        _ match: RequestMatch,
        changes: Bool = false,
        watch: (@escaping @Sendable () -> Void) -> Void,
    ) -> AsyncStream<JournalEntry> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: JournalEntry.self, bufferingPolicy: .bufferingOldest(JournalLimits.followerBacklog))
        let finish = { @Sendable in continuation.finish() }
        watch(finish)
        let show = { @Sendable (entry: JournalEntry) in
            if case .dropped = continuation.yield(entry) { finish() }
        }
        let name = state.withLock {
            $0.add(
                JournalState.Watcher(
                    match: match, onEntry: show, changes: changes, count: 0, onCount: {}, onEnd: finish))
        }
        continuation.onTermination = { [weak self] _ in
            // In a task of its own: the stream may end under the journal's lock.
            Task { self?.remove(name) }
        }
        return stream
    }

    /// A sample of the requests to come that a match means, and of their changes.
    /// - Parameter ended: called when nothing more comes.
    /// - Returns: the sample, and what removes it when its reader has gone.
    package func sample(
        _ match: RequestMatch,
        ended: @escaping @Sendable () -> Void,
    ) -> (sample: JournalSample, remove: @Sendable () -> Void) {
        state.withLock { state in
            let sample = JournalSample(newest: state.lastNumber)
            let name = state.add(
                JournalState.Watcher(
                    match: match, onEntry: { sample.add($0) }, changes: true, count: 0, onCount: {}, onEnd: ended))
            return (sample, { [weak self] in self?.remove(name) })
        }
    }

    private func remove(_ watcher: UInt64) { state.withLock { $0.removeWatcher(watcher) } }

    /// Ends everybody's waiting, now and from now on: the service goes down.
    package func end() { state.withLock { $0.end() } }
}
