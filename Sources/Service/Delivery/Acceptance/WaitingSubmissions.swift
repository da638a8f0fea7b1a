import DequeModule
import Synchronization

/// The connections for which a registration is being looked up, with what each has submitted since then. These
/// submissions wait, so that none is accepted before an earlier one of the same connection.
///
/// The provider API limits the number of unanswered submissions of a connection, and so the memory used here.
final class WaitingSubmissions: Sendable {
    /// Submissions that a connection has read together.
    struct Batch: Sendable {
        var submissions: [Submission]
        var read: Uptime
        /// Whether the process was stopped before they were read. They may have waited in a socket since then, and be older
        /// than those that their provider sent to another node.
        var wasStopped: Bool
    }

    private let batches = Mutex<[ObjectIdentifier: Deque<Batch>]>([:])
    /// The number of connections. Changed only while the lock is held.
    private let count = Atomic(0)

    /// Whether no connection waits. A connection sees its own submissions here at once. As long as all registrations
    /// are known, this check is the only cost of a submission.
    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    /// Records that a connection's registrations are being looked up.
    func begin(_ answers: any SubmissionAnswers) {
        batches.withLock { batches in
            batches[ObjectIdentifier(answers)] = []
            count.add(1, ordering: .relaxed)
        }
    }

    /// Adds the submissions if others of their connection are waiting.
    /// - Returns: Whether they were added.
    func append(_ batch: Batch, of answers: any SubmissionAnswers) -> Bool {
        batches.withLock { batches in
            guard batches[ObjectIdentifier(answers)] != nil else { return false }
            batches[ObjectIdentifier(answers)]?.append(batch)
            return true
        }
    }

    /// Returns the connection's next batch, in the order of arrival. If there is none, returns nil, and the
    /// connection no longer waits.
    func next(of answers: any SubmissionAnswers) -> Batch? {
        batches.withLock { batches in
            if let batch = batches[ObjectIdentifier(answers)]?.popFirst() { return batch }
            batches[ObjectIdentifier(answers)] = nil
            count.subtract(1, ordering: .releasing)
            return nil
        }
    }
}
