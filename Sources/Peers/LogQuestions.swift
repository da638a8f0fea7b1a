import Delivery
import Notifications
import Synchronization

/// The requests for delivery log entries that other nodes have not answered yet.
final class LogQuestions: Sendable {
    /// The largest number of lines that one node may send in answer to one question.
    private static let maximumLines = 4096

    private let state = Mutex(State())

    private struct State {
        var last: UInt64 = 0
        var open: [UInt64: Question] = [:]
    }

    private struct Question {
        let node: NodeID
        var lines: [String] = []
        let answered: @Sendable ([String]?) -> Void
    }

    /// - Parameter answered: called once with the answer, or with nil if there is none.
    /// - Returns: the number that identifies the question.
    func begin(to node: NodeID, _ answered: @escaping @Sendable ([String]?) -> Void) -> UInt64 {
        state.withLock { state in
            state.last &+= 1
            state.open[state.last] = Question(node: node, answered: answered)
            return state.last
        }
    }

    /// Adds a line to the answer of a node.
    func add(_ line: String, to number: UInt64, from node: NodeID) {
        state.withLock { state in
            guard let question = state.open[number], question.node == node, question.lines.count < Self.maximumLines
            else { return }
            state.open[number]?.lines.append(line)
        }
    }

    /// - Parameter isComplete: false if the rest of the answer will not come.
    func end(_ number: UInt64, from node: NodeID, isComplete: Bool) {
        let question = state.withLock { state -> Question? in
            guard state.open[number]?.node == node else { return nil }
            return state.open.removeValue(forKey: number)
        }
        question?.answered(isComplete ? question?.lines : nil)
    }
}
