import Synchronization

/// The entries that a follower of the journal gets. What waits for all followers together is limited in bytes.
package struct FollowedEntries: AsyncSequence, Sendable {
    let stream: AsyncStream<JournalEntry>
    let share: Backlog.Share

    package typealias Element = JournalEntry
    package typealias Failure = Never

    package struct AsyncIterator: AsyncIteratorProtocol {
        var base: AsyncStream<JournalEntry>.Iterator
        let share: Backlog.Share

        package mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> JournalEntry? {
            guard let entry = await base.next(isolation: actor) else { return nil }
            share.remove(entry.bytes)
            return entry
        }
    }

    package func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: stream.makeAsyncIterator(), share: share)
    }
}

/// How many bytes wait for clients that are slow to read: followers of the journal and of the delivery log together.
package final class Backlog: Sendable {
    private struct State {
        var bytes = 0
        var followers = 0
    }

    private let state = Mutex(State())
    private let limit: Int

    package convenience init() { self.init(limit: JournalLimits.backlogBytes) }

    init(limit: Int) { self.limit = limit }

    package func makeShare() -> Share {
        state.withLock { $0.followers += 1 }
        return Share(self)
    }

    /// What waits for one follower. When the last reference is released, nothing waits for it any more.
    package final class Share: Sendable {
        private let backlog: Backlog
        private let own = Mutex(0)

        init(_ backlog: Backlog) { self.backlog = backlog }

        /// - Returns: Whether there is room for the entry. If not, those go away first for whom the most waits: followers
        ///   with at least the average.
        package func add(_ bytes: Int) -> Bool {
            let waiting = own.withLock { own in
                own += bytes
                return own
            }
            return backlog.state.withLock { state in
                state.bytes += bytes
                return state.bytes <= backlog.limit || waiting * state.followers < state.bytes
            }
        }

        package func remove(_ bytes: Int) {
            own.withLock { $0 -= bytes }
            backlog.state.withLock { $0.bytes -= bytes }
        }

        deinit {
            let rest = own.withLock(\.self)
            backlog.state.withLock { state in
                state.bytes -= rest
                state.followers -= 1
            }
        }
    }
}
