import Delivery

/// Waits for the outcome of one message.
final class OutcomeWaiter: SubmissionAnswers {
    private let continuation: CheckedContinuation<Outcome, Never>

    private init(_ continuation: CheckedContinuation<Outcome, Never>) { self.continuation = continuation }

    func answer(_ ticket: UInt64, with outcome: Outcome) { continuation.resume(returning: outcome) }

    /// Submits one message, and returns its outcome.
    static func outcome(_ submit: (any SubmissionAnswers) -> Void) async -> Outcome {
        await withCheckedContinuation { submit(OutcomeWaiter($0)) }
    }
}
