import DequeModule
import Synchronization

/// The connections for which a registration is being looked up, and what each of them has submitted since: it waits, so
/// that nothing is accepted before what came before it on the same connection.
///
/// How much one connection can have here is bounded by its gateway, which bounds what it takes unanswered.
final class WaitingSubmissions: Sendable {
    private let batches = Mutex<[ObjectIdentifier: Deque<[Submission]>]>([:])
    /// How many connections there are. Changed while the lock is held.
    private let count = Atomic(0)

    /// Whether nothing waits. Of a connection's own submissions this is true at once to whoever makes them; where every
    /// registration is known at once it is all that a submission costs.
    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    /// A connection's registrations are being looked up from now on.
    func begin(_ answers: any SubmissionAnswers) {
        batches.withLock { batches in
            batches[ObjectIdentifier(answers)] = []
            count.add(1, ordering: .relaxed)
        }
    }

    /// Has the submissions wait if others of their connection do.
    func append(_ submissions: [Submission], of answers: any SubmissionAnswers) -> Bool {
        batches.withLock { batches in
            guard batches[ObjectIdentifier(answers)] != nil else { return false }
            batches[ObjectIdentifier(answers)]?.append(submissions)
            return true
        }
    }

    /// The next batch of the connection, in the order in which they came; nil where there is none, and the connection does
    /// not wait any more.
    func next(of answers: any SubmissionAnswers) -> [Submission]? {
        batches.withLock { batches in
            if let batch = batches[ObjectIdentifier(answers)]?.popFirst() { return batch }
            batches[ObjectIdentifier(answers)] = nil
            count.subtract(1, ordering: .releasing)
            return nil
        }
    }
}
