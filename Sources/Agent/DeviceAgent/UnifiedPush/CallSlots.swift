import Synchronization

/// The calls that wait for an answer, of each program on the bus and of all.
final class CallSlots: Sendable {
    /// The most calls of all programs. A registration may wait for the service for 15 seconds.
    static let maximum = 256
    /// The most calls of one program: its registrations when it starts.
    static let maximumOfSender = AgentLimits.connectorsOfName

    private let counts = Mutex<[String: Int]>([:])

    /// Takes a place for a call.
    /// - Returns: false if there is none.
    func take(_ sender: String) -> Bool {
        counts.withLock { counts in
            let own = counts[sender] ?? 0
            guard own < Self.maximumOfSender, counts.values.reduce(0, +) < Self.maximum else { return false }
            counts[sender] = own + 1
            return true
        }
    }

    func release(_ sender: String) {
        counts.withLock { counts in
            let left = (counts[sender] ?? 1) - 1
            counts[sender] = left > 0 ? left : nil
        }
    }

    /// Whether a program has no call but one.
    func isOnly(_ sender: String) -> Bool { counts.withLock { $0[sender] ?? 0 } <= 1 }
    /// Whether a program has no call.
    func isFree(_ sender: String) -> Bool { counts.withLock { $0[sender] == nil } }
}
