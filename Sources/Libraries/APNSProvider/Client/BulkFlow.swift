import Synchronization

/// Connects the source of a bulk call, the event loop that answers, and the reader of the outcomes. Limits the
/// number of notifications under way, and wakes the source and the reader once for many notifications.
final class BulkFlow<Item: Sendable>: AnswerReader {
    typealias Outcome = PushOutcome<Item>

    private struct State {
        var ready: [Outcome] = []
        var progress = SendProgress()
        /// The number of notifications that were taken from the source and whose outcomes were not yet read.
        var outstanding = 0
        /// The number of outcomes in the batch that the reader has now.
        var handedOut = 0
        var hasBegun = false
        var isCancelled = false
        var failure: (any Error)?
        var feeder: CheckedContinuation<Bool, Never>?
        var reader: CheckedContinuation<[Outcome], Never>?
        var isWakeDue = false

        var isDone: Bool { isCancelled || (progress.isSourceAtEnd && progress.ended == progress.taken) }

        mutating func removeReady() -> [Outcome] {
            defer { ready = [] }
            handedOut = ready.count
            return ready
        }
    }

    private let maximum: Int
    private let state = Mutex(State())
    private let giveUp: @Sendable () -> Void

    /// - Parameter giveUp: called to give up the notifications that are under way.
    init(maximum: Int, giveUp: @escaping @Sendable () -> Void) {
        self.maximum = max(1, maximum)
        self.giveUp = giveUp
    }

    var progress: SendProgress { state.withLock { $0.progress } }

    /// Returns true for the first iterator only.
    func begin() -> Bool {
        state.withLock { state in
            defer { state.hasBegun = true }
            return !state.hasBegun
        }
    }

    // MARK: The source's side

    /// Waits until one more notification may be taken. Returns false when the call is over.
    func hasRoom() async -> Bool {
        // In the common case there is room, and no task has to wait.
        if let answer = state.withLock({ room(in: $0) }) { return answer }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if let answer = room(in: state) { return answer }
                    state.feeder = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Returns nil if the source has to wait.
    private func room(in state: borrowing State) -> Bool? {
        state.isCancelled ? false : state.outstanding < maximum ? true : nil
    }

    func began() {
        state.withLock { state in
            state.outstanding += 1
            state.progress.taken += 1
        }
    }

    func sourceEnded(_ failure: (any Error)?) {
        state.withLock { state in
            state.progress.isSourceAtEnd = true
            state.failure = failure
        }
        wake()
    }

    // MARK: The event loop's side

    /// Adds an outcome. Returns the reader if it has to be woken. The caller wakes it after it has passed on all
    /// answers that arrived together.
    func add(_ outcome: Outcome) -> (any AnswerReader)? {
        state.withLock { state in
            state.ready.append(outcome)
            if outcome.isAccepted { state.progress.accepted += 1 } else { state.progress.failed += 1 }
            defer { state.isWakeDue = true }
            return state.isWakeDue ? nil : self
        }
    }

    func wake() {
        let woken = state.withLock { state -> (CheckedContinuation<[Outcome], Never>, [Outcome])? in
            state.isWakeDue = false
            guard let reader = state.reader, !state.ready.isEmpty || state.isDone else { return nil }
            state.reader = nil
            return (reader, state.removeReady())
        }
        if let (reader, batch) = woken { reader.resume(returning: batch) }
    }

    // MARK: The reader's side

    /// Returns all outcomes that have come, and waits for the first one if there are none. Returns an empty list at
    /// the end.
    func nextBatch() async -> [Outcome] {
        letMoreIn()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let batch: [Outcome]? = state.withLock { state in
                    if !state.ready.isEmpty || state.isDone { return state.removeReady() }
                    state.reader = continuation
                    return nil
                }
                if let batch { continuation.resume(returning: batch) }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Returns the error with which the source ended. Returns it only once.
    func removeFailure() -> (any Error)? {
        state.withLock { state in
            defer { state.failure = nil }
            return state.isCancelled ? nil : state.failure
        }
    }

    private func letMoreIn() {
        let feeder = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            state.outstanding -= state.handedOut
            state.handedOut = 0
            // Wake the source only when a quarter of the places are free, and not for each one.
            guard state.outstanding <= maximum - max(1, maximum / 4) else { return nil }
            defer { state.feeder = nil }
            return state.feeder
        }
        feeder?.resume(returning: true)
    }

    /// Ends the call, because the reader is gone or the task was cancelled.
    func cancel() {
        let (feeder, reader, isNews) = state.withLock { state in
            let isNews = !state.isDone
            state.isCancelled = true
            defer {
                state.feeder = nil
                state.reader = nil
            }
            return (state.feeder, state.reader, isNews)
        }
        feeder?.resume(returning: false)
        reader?.resume(returning: [])
        if isNews { giveUp() }
    }
}
