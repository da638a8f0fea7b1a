package import Delivery
package import Matching
package import Notifications
import Synchronization

/// Keeps the last requests of providers with their payloads, answers and outcomes.
///
/// Event loops call it, and callers of the delivery log do, sometimes while they hold locks. So it never waits. While
/// it holds its own lock, it calls only the continuations of streams, which do not wait either.
package final class RequestJournal: Sendable {
    private let state = Mutex(JournalState())
    private let connections = Atomic<UInt64>(0)
    /// Whether the journal is on. If not, the delivery log's events are ignored without taking the lock.
    private let isOn = Atomic(false)
    private let otherAuthorityIsKnown = Atomic(false)
    /// What waits for followers that are slow to read. Other streams of the service count in it too.
    package let backlog = Backlog()

    private let clock: ServiceClock?

    /// - Parameter clock: the service's clock, and those of teams, by which the journal shows the times of their
    ///   requests. Without it, they have the times that they come with.
    package init(clock: ServiceClock? = nil) { self.clock = clock }

    /// The maximum number of requests to keep; 0 if the journal is off.
    package var keep: Int { state.withLock { $0.keep } }

    /// Sets the maximum number of requests to keep; 0 switches the journal off. If there are more at present, the
    /// oldest are removed.
    package func setKeep(_ keep: Int) {
        let keep = min(max(0, keep), JournalLimits.requests)
        state.withLock { $0.setKeep(keep) }
        isOn.store(keep > 0, ordering: .relaxed)
    }

    /// The number of the newest request or failed connection; 0 if there was none.
    package var newest: UInt64 { state.withLock { $0.lastNumber } }

    /// The number of waits and streams that have begun and not ended.
    var watcherCount: Int { state.withLock { $0.watcherCount } }

    /// The requests that match, oldest first.
    package func requests(_ match: RequestMatch, limit: Int) -> [JournalEntry] {
        var found: [JournalEntry] = []
        readEntries { entry in
            if match.matches(entry.facts) { found.append(entry) }
            return found.count < limit
        }
        return found
    }

    /// Reads the present entries, the oldest first. The provider APIs need the lock for each request, so the entries are copied a
    /// page at a time, and nothing is compared, and no payload parsed, while it is held.
    /// - Parameter body: returns whether to read on.
    private func readEntries(_ body: (JournalEntry) -> Bool) {
        var last: UInt64 = 0
        // Requests that arrive during the reading are read too, up to as many as the journal can keep: if they arrive faster
        // than they are read, the loop would not end.
        for _ in 0...JournalLimits.requests / JournalLimits.page {
            let page = state.withLock { $0.entries(after: last, limit: JournalLimits.page) }
            for entry in page {
                last = entry.facts.number
                guard body(entry) else { return }
            }
            guard page.count == JournalLimits.page else { return }
        }
    }

    /// Compares the payloads of the present entries. Those that come after it are compared under the lock; there are few.
    private func examine(_ match: RequestMatch) -> PayloadMatchCache {
        var examined = PayloadMatchCache(match)
        guard examined.comparesPayloads else { return examined }
        readEntries { entry in
            examined.examine(entry.facts)
            return true
        }
        return examined
    }

    /// Notes that somebody has read the root of the other authority, so that clients may trust it.
    package func otherAuthorityWasRead() { otherAuthorityIsKnown.store(true, ordering: .relaxed) }

    /// Whether clients may trust the other authority.
    package var mayTrustOtherAuthority: Bool { otherAuthorityIsKnown.load(ordering: .relaxed) }

    /// The remembered TLS handshakes that failed or that a rehearsal disturbed, the oldest first.
    package var handshakes: [HandshakeRecord] { state.withLock { $0.handshakeRecords } }

    /// How many of the remembered connections that ended without a request match.
    package func unusedConnections(_ match: RequestMatch) -> Int { state.withLock { $0.unusedCount(match) } }

    /// The remembered requests that match and were not processed, because the service was ending their connections. If
    /// the journal may have forgotten that they were sent again, they are left out.
    package func unprocessedRequests(_ match: RequestMatch) -> [UnprocessedRequests] {
        state.withLock { $0.unprocessedRequests(match) }
    }

    /// Removes the requests that match.
    /// - Returns: the number of removed requests.
    package func clear(_ match: RequestMatch = RequestMatch()) -> Int {
        let examined = examine(match)
        return state.withLock { $0.remove(match, examined) }
    }
}

// MARK: - Events of requests and connections

extension RequestJournal {
    /// Gives a new connection its number.
    package func nextConnection() -> UInt64 { connections.add(1, ordering: .relaxed).newValue }

    /// Notes a connection that ended without a request.
    package func record(unused connection: UnusedConnection) { state.withLock { $0.append(connection) } }

    /// Notes requests that were not processed, because the service was ending their connection.
    package func record(unprocessed requests: UnprocessedRequests) { state.withLock { $0.append(requests) } }

    /// Notes the result of a TLS handshake.
    package func record(_ connection: ConnectionFacts, _ result: HandshakeResult, at time: Timestamp) {
        state.withLock { $0.append(connection, result, at: time) }
    }

    /// Adds a request that the provider API has decided about.
    /// - Returns: its number.
    package func append(_ facts: RequestFacts) -> UInt64 {
        state.withLock { state in
            var facts = facts
            facts.number = state.nextNumber()
            if let clock, clock.isAnyAdvanced {
                facts.machineTime = clock.machineTime
                let ahead = facts.team.map(clock.teams.offset) ?? 0
                facts.time = facts.time.advanced(by: .milliseconds(Int64(clamping: ahead)))
            }
            if state.isOn { state.append(JournalEntry(facts)) }
            return facts.number
        }
    }

    /// A number for a request that the journal does not get.
    package func nextNumber() -> UInt64 { state.withLock { $0.nextNumber() } }

    package func answered(_ number: UInt64, _ answer: RequestAnswer) {
        state.withLock { state in
            state.update(number) { entry in
                entry.answer(answer)
                return true
            }
        }
    }

    /// Notes what this service would have answered to a request, because the upstream's answer differs from it.
    package func compared(_ number: UInt64, own: String) {
        state.withLock { state in
            state.update(number) { entry in
                entry.facts.ownAnswer = own
                return true
            }
        }
    }

    /// Notes that a notification is kept, and can be released.
    package func captured(_ number: UInt64) {
        state.withLock { state in
            state.update(number) { entry in
                entry.isCaptured = true
                return true
            }
        }
    }

    /// Makes the numbers of later requests greater than this one, which an earlier start has used.
    package func beginNumbers(after number: UInt64) { state.withLock { $0.beginNumbers(after: number) } }

    /// Notes that a request gets no answer.
    package func unanswered(_ number: UInt64, isDiscarded: Bool) {
        state.withLock { state in
            state.update(number) { entry in
                entry.isComplete = true
                if isDiscarded { _ = entry.become(.dropped) }
                return true
            }
        }
    }

    /// Records which rule of a rehearsal fired for a request.
    package func setRule(_ rule: String, of number: UInt64) {
        state.withLock { state in
            state.update(number) { entry in
                entry.rule = rule
                return true
            }
        }
    }

    /// Notes the channel that a request has created.
    package func setChannel(_ channel: String, of number: UInt64) {
        state.withLock { state in
            state.update(number) { entry in
                entry.facts.channel = channel
                return true
            }
        }
    }

    /// Sets an outcome that the delivery log does not have, for example that a rehearsal lost the notification.
    package func end(_ number: UInt64, as outcome: RequestOutcome) {
        state.withLock { $0.update(number) { $0.become(outcome) } }
    }

    /// Sets the outcome of a notification by an event of the delivery log.
    package func record(_ event: DeliveryEvent) {
        guard isOn.load(ordering: .relaxed), let outcome = RequestOutcome(event.step),
            case .destination(let destination, _) = event.subject.address, destination.environment == .development
        else { return }
        let subject = JournalState.Subject(id: event.subject.id, device: destination.device)
        state.withLock { $0.update(subject) { $0.become(outcome) } }
    }
}

extension RequestOutcome {
    /// The outcome that a step implies; nil if the step does not change the outcome.
    fileprivate init?(_ step: DeliveryStep) {
        switch step {
        case .accepted, .sent, .duplicate, .forwarded, .answered: return nil
        case .rejected: self = .rejected
        case .stored, .deferred, .throttled, .held: self = .stored
        case .replaced, .coalesced: self = .replaced
        case .acknowledged: self = .delivered
        case .expired: self = .expired
        case .discarded, .dropped: self = .dropped
        }
    }
}

// MARK: - Waiting

/// The result of a wait.
package enum WaitResult: Sendable {
    /// Enough requests matched. If `count` is 0: no request matched before the timeout.
    case done([JournalEntry])
    /// - Parameters:
    ///   - matched: the number of requests that matched.
    ///   - nearest: the requests that differ least from the match, each with the keys in which it differs.
    ///   - failed: the newest connections that failed before a request, and not by a rehearsal, newest first.
    ///   - dropped: the number of the newest request for which the journal had no room any more; 0 if it had room for all.
    case timedOut(
        matched: Int, nearest: [(entry: JournalEntry, differs: [String])], failed: [JournalEntry], dropped: UInt64)
    /// The journal has ended before, because the service ends.
    case ended
}

extension RequestJournal {
    /// Waits until at least `count` requests match.
    /// - Parameters:
    ///   - count: if 0, waits until the timeout, and succeeds if no request has matched by then.
    ///   - limit: the maximum number of requests in the result, if `count` is not greater.
    ///   - timeout: how long to wait, by the machine's clock.
    ///   - watch: gets a closure that ends the wait early, and keeps it for that.
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
        let examined = examine(match)
        let name = state.withLock {
            $0.add(
                JournalState.Watcher(match: match, onEntry: nil, count: count, onCount: finish, onEnd: finish),
                examined)
        }
        let timer = Task {
            try await Task.sleep(for: timeout)
            finish()
        }
        for await _ in stream {}
        timer.cancel()
        let (result, matched): (WaitResult?, Int) = state.withLock { state in
            let matched = state.removeWatcher(name)
            // Of a wait for no request, nobody knows what would have come until the timeout.
            let isEnough = count > 0 ? matched.count >= count : matched.isEmpty && !state.hasEnded
            guard isEnough else { return (state.hasEnded ? .ended : nil, matched.count) }
            return (.done(state.entries(matched, limit: max(limit, count))), matched.count)
        }
        if let result { return result }
        let (nearest, failed) = misses(match)
        return .timedOut(
            matched: matched, nearest: nearest, failed: failed, dropped: state.withLock { $0.lastDropped })
    }

    /// What may explain that a wait has failed: the requests that differ least, and the newest failed connections.
    private func misses(_ match: RequestMatch) -> (nearest: [NearestRequests.Request], failed: [JournalEntry]) {
        var nearest = NearestRequests(match)
        var failed: [JournalEntry] = []
        readEntries { entry in
            if entry.facts.failedHandshake == nil || match.outcome == .failed { nearest.add(entry) }
            if entry.facts.failedHandshake != nil, entry.rule == nil {
                failed.append(entry)
                if failed.count > JournalLimits.maximumNearest { failed.removeFirst() }
            }
            return true
        }
        return (nearest.requests, failed.reversed())
    }

    /// Returns a stream of the matching requests: the existing ones and future ones, each when it is complete. If the
    /// reader is too slow, the stream ends. What waits for all readers together is limited too (``FollowedEntries``).
    /// - Parameters:
    ///   - changes: whether to leave out the existing requests, and to send a request again each time it changes.
    ///   - watch: gets a closure that ends the stream, and keeps it for that.
    package func follow(
        _ match: RequestMatch,
        changes: Bool = false,
        watch: (@escaping @Sendable () -> Void) -> Void,
    ) -> FollowedEntries {
        // All existing requests have to fit, and then as many as may wait for a slow reader.
        let backlog = state.withLock { $0.count } + JournalLimits.followerBacklog
        let (stream, continuation) = AsyncStream.makeStream(
            of: JournalEntry.self, bufferingPolicy: .bufferingOldest(backlog))
        let follower = Follower()
        continuation.onTermination = { [weak self] _ in
            follower.hasEnded.store(true, ordering: .sequentiallyConsistent)
            // Remove the watcher in a task: the stream may end while the journal's lock is held.
            Task { self?.remove(follower.name.load(ordering: .sequentiallyConsistent)) }
        }
        let finish = { @Sendable in continuation.finish() }
        watch(finish)
        let share = self.backlog.makeShare()
        let show = { @Sendable (entry: JournalEntry) in
            guard share.add(entry.bytes) else { return finish() }
            if case .dropped = continuation.yield(entry) { finish() }
        }
        // A reader of changes gets no existing requests.
        let examined = changes ? PayloadMatchCache(match) : examine(match)
        let name = state.withLock { state in
            let name = state.add(
                JournalState.Watcher(
                    match: match, onEntry: show, changes: changes, count: 0, onCount: {}, onEnd: finish), examined)
            follower.name.store(name, ordering: .sequentiallyConsistent)
            return name
        }
        // If the stream had ended before, its end could not remove the watcher.
        if follower.hasEnded.load(ordering: .sequentiallyConsistent) { remove(name) }
        return FollowedEntries(stream: stream, share: share)
    }

    /// A follower's watcher, and whether its stream has ended.
    private final class Follower: Sendable {
        /// 0 if it has none yet.
        let name = Atomic<UInt64>(0)
        let hasEnded = Atomic(false)
    }

    /// Returns a sample of the future requests that match, and of their changes.
    /// - Parameter ended: called when the journal ends.
    /// - Returns: the sample, and a closure that removes it when its reader has gone.
    package func sample(
        _ match: RequestMatch,
        ended: @escaping @Sendable () -> Void,
    ) -> (sample: JournalSample, remove: @Sendable () -> Void) {
        state.withLock { state in
            let sample = JournalSample(newest: state.lastNumber)
            let name = state.add(
                JournalState.Watcher(
                    match: match, onEntry: { sample.add($0) }, changes: true, count: 0, onCount: {}, onEnd: ended),
                PayloadMatchCache(match))
            return (sample, { [weak self] in self?.remove(name) })
        }
    }

    private func remove(_ watcher: UInt64) { state.withLock { _ = $0.removeWatcher(watcher) } }

    /// Ends all waits and streams when the service shuts down. Those that begin later end at once.
    package func end() { state.withLock { $0.end() } }
}
