/// The outcomes of many notifications, each as it ends: not in the order in which they were sent.
///
/// Nothing is sent before somebody reads. While nobody reads on, no more is taken from the source than
/// ``ProviderClient/Configuration/maximumInFlight``. When the reading task is cancelled, or the iterator is dropped,
/// sending ends: what is under way is given up, and the iterator returns nil. An error of the source is thrown after the
/// outcomes of what came before it.
public struct PushOutcomes<Source: AsyncSequence & Sendable>: AsyncSequence, Sendable where Source.Element: Sendable {
    public typealias Element = PushOutcome<Source.Element>
    public typealias Failure = Source.Failure

    let source: Source
    let flow: BulkFlow<Source.Element>
    let send: @Sendable (Source.Element) -> Void
    /// What is done with each outcome before it is told; nil where nothing is.
    var didEnd: (@Sendable (Element) async -> Void)?

    init(
        source: Source,
        flow: BulkFlow<Source.Element>,
        send: @escaping @Sendable (Source.Element) -> Void,
    ) {
        self.source = source
        self.flow = flow
        self.send = send
    }

    /// How far sending is, at any time and from any task.
    public var progress: SendProgress { flow.progress }

    /// Begins to send. A sequence of outcomes is read once: a second iterator has nothing to give.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(reader: Reader(self))
    }

    /// Reads the outcomes.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: Reader

        /// The next outcome; nil when all are told.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Source.Failure) -> Element? {
            try await reader.next(isolation: actor)
        }

        /// The next outcome; nil when all are told.
        public mutating func next() async throws(Source.Failure) -> Element? {
            try await reader.next(isolation: #isolation)
        }
    }

    /// What an iterator holds: when it is let go of, sending ends.
    final class Reader {
        private let outcomes: PushOutcomes
        private var feeding: Task<Void, Never>?
        private var batch: [Element] = []
        private var position = 0

        init(_ outcomes: PushOutcomes) {
            self.outcomes = outcomes
            guard outcomes.flow.begin() else { return }
            feeding = Task { [source = outcomes.source, send = outcomes.send, flow = outcomes.flow] in
                do throws(Source.Failure) {
                    var iterator = source.makeAsyncIterator()
                    while await flow.hasRoom(), let item = try await iterator.next(isolation: nil) {
                        flow.began()
                        send(item)
                    }
                    flow.sourceEnded(nil)
                } catch {
                    flow.sourceEnded(error)
                }
            }
        }

        deinit {
            feeding?.cancel()
            outcomes.flow.cancel()
        }

        func next(isolation actor: isolated (any Actor)?) async throws(Source.Failure) -> Element? {
            if position == batch.count {
                batch = await outcomes.flow.nextBatch()
                position = 0
            }
            guard position < batch.count else {
                if let error = outcomes.flow.takeFailure() as? Source.Failure { throw error }
                return nil
            }
            defer { position += 1 }
            let outcome = batch[position]
            if let didEnd = outcomes.didEnd { await didEnd(outcome) }
            return outcome
        }
    }
}

/// How far a bulk call is.
public struct SendProgress: Sendable, Hashable {
    /// Taken from the source.
    public var taken = 0
    /// Accepted by the service.
    public var accepted = 0
    /// Refused, or without an answer.
    public var failed = 0
    /// Whether the source has ended, so that no more will be taken.
    public var isSourceAtEnd = false

    package init(taken: Int = 0, accepted: Int = 0, failed: Int = 0, isSourceAtEnd: Bool = false) {
        self.taken = taken
        self.accepted = accepted
        self.failed = failed
        self.isSourceAtEnd = isSourceAtEnd
    }

    /// Ended, one way or the other.
    public var ended: Int { accepted + failed }
}
