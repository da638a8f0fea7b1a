import Synchronization

/// Waits for the outcome of one submission, for APIs that handle each request in a task.
package final class OutcomeWaiter: SubmissionAnswers {
    /// Nil after the first answer. Resuming a continuation twice would end the process.
    private let continuation: Mutex<CheckedContinuation<Outcome, Never>?>

    private init(_ continuation: CheckedContinuation<Outcome, Never>) { self.continuation = Mutex(continuation) }

    package func answer(_ ticket: UInt64, with outcome: Outcome) {
        let continuation = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        continuation?.resume(returning: outcome)
    }

    /// Submits one message or notification, and returns its outcome.
    package static func outcome(_ submit: (any SubmissionAnswers) -> Void) async -> Outcome {
        await withCheckedContinuation { submit(OutcomeWaiter($0)) }
    }
}
