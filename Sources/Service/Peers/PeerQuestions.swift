import Delivery
import Synchronization

/// The questions of one kind that other nodes have not answered yet. An answer comes in parts.
final class PeerQuestions<Part: Sendable>: Sendable {
    /// The largest number of parts that one node may send in answer to one question.
    private let maximumParts: Int
    private let state = Mutex(State())

    private struct State {
        var last: UInt64 = 0
        var open: [UInt64: Question] = [:]
    }

    private struct Question {
        let node: NodeID
        var parts: [Part] = []
        /// Whether parts were left out. Such an answer does not count.
        var isCut = false
        let answered: @Sendable ([Part]?) -> Void
    }

    init(maximumParts: Int) { self.maximumParts = maximumParts }

    /// - Parameter answered: called once with the answer, or with nil if there is none.
    /// - Returns: the number that identifies the question.
    func begin(to node: NodeID, _ answered: @escaping @Sendable ([Part]?) -> Void) -> UInt64 {
        state.withLock { state in
            state.last &+= 1
            state.open[state.last] = Question(node: node, answered: answered)
            return state.last
        }
    }

    /// Adds a part to the answer of a node.
    func add(_ part: Part, to number: UInt64, from node: NodeID) {
        state.withLock { state in
            guard let question = state.open[number], question.node == node else { return }
            if question.parts.count < maximumParts {
                state.open[number]?.parts.append(part)
            } else {
                state.open[number]?.isCut = true
            }
        }
    }

    /// - Parameter isComplete: false if the rest of the answer will not come.
    func end(_ number: UInt64, from node: NodeID, isComplete: Bool) {
        let question = state.withLock { state -> Question? in
            guard state.open[number]?.node == node else { return nil }
            return state.open.removeValue(forKey: number)
        }
        question?.answered(isComplete && question?.isCut == false ? question?.parts : nil)
    }
}
