/// The outcomes of many notifications. Each comes as soon as it is known, so their order differs from the order of
/// sending.
///
/// Nothing is sent until you iterate. If you stop reading, the client takes at most
/// ``ProviderClient/Configuration/maximumInFlight`` notifications from the source. If the reading task is cancelled
/// or the iterator is released, the call ends: the client gives up the notifications under way, and the iterator
/// returns nil. If the source throws an error, the iterator throws it after the outcomes of all notifications before
/// it.
public struct PushOutcomes<Source: AsyncSequence & Sendable>: AsyncSequence, Sendable where Source.Element: Sendable {
    public typealias Element = PushOutcome<Source.Element>
    public typealias Failure = Source.Failure

    let source: Source
    let flow: BulkFlow<Source.Element>
    let send: @Sendable (Source.Element) -> Void
    /// An action to run before each outcome is handed to the reader.
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

    /// The progress of the call. You can read it at any time and from any task.
    public var progress: SendProgress { flow.progress }

    /// Starts sending. The outcomes can be read only once: a second iterator returns nil.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(reader: Reader(self))
    }

    /// The iterator of ``PushOutcomes``.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: Reader

        /// Returns the next outcome, or nil after the last one.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Source.Failure) -> Element? {
            try await reader.next(isolation: actor)
        }

        /// Returns the next outcome, or nil after the last one.
        public mutating func next() async throws(Source.Failure) -> Element? {
            try await reader.next(isolation: #isolation)
        }
    }

    /// The state of an iterator. When it is released, the call ends.
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
                if let error = outcomes.flow.removeFailure() as? Source.Failure { throw error }
                return nil
            }
            defer { position += 1 }
            let outcome = batch[position]
            if let didEnd = outcomes.didEnd { await didEnd(outcome) }
            return outcome
        }
    }
}

/// The progress of a bulk call.
public struct SendProgress: Sendable, Hashable {
    /// The number of notifications that were taken from the source.
    public var taken = 0
    /// The number of notifications that the service accepted.
    public var accepted = 0
    /// The number of notifications that were refused or not answered.
    public var failed = 0
    /// Whether the source has ended and no more notifications will be taken.
    public var isSourceAtEnd = false

    package init(taken: Int = 0, accepted: Int = 0, failed: Int = 0, isSourceAtEnd: Bool = false) {
        self.taken = taken
        self.accepted = accepted
        self.failed = failed
        self.isSourceAtEnd = isSourceAtEnd
    }

    /// The number of notifications whose outcome is known: ``accepted`` and ``failed`` together.
    public var ended: Int { accepted + failed }
}
