import NIOCore
package import Rates
import Synchronization

/// Decides before a connection's TLS handshake whether its address has too many connections already. Listeners that
/// serve the same peers share one guard.
package final class ConnectGuard: Sendable {
    /// The limit that an address exceeds if it connects too often.
    let rateLimit: Limit
    /// Counts and logs the limits that its connections exceed.
    let log: LimitLog?
    private let limits: ConnectLimits
    private let budget: ConnectionBudget
    private let state: Mutex<State>

    private struct State {
        var connects: RateTable<PeerAddress>
        var open: [PeerAddress: Int] = [:]
        /// Addresses whose connects count double until the given time, in nanoseconds.
        var suspects: [PeerAddress: UInt64] = [:]
    }

    /// The time for which an address that misbehaved stays a suspect.
    static let suspicion = TimeAmount.minutes(10)

    /// The largest number of suspects. If there are more, the oldest is forgotten.
    static let maximumSuspects = 10_000

    /// - Parameters:
    ///   - rateLimit: the limit that an address exceeds if it connects too often.
    ///   - budget: the connections that all listeners of the process may have together.
    ///   - log: counts and logs the limits that its connections exceed.
    package init(_ rateLimit: Limit, _ limits: ConnectLimits, budget: ConnectionBudget, log: LimitLog? = nil) {
        self.rateLimit = rateLimit
        self.log = log
        self.limits = limits
        self.budget = budget
        state = Mutex(State(connects: RateTable(limits.connects)))
    }

    /// The answer to a new connection.
    enum Verdict: Sendable, Hashable {
        case admitted
        case tooManyConnects
        case tooManyOpen
        case outOfFiles
    }

    /// Counts a connection. If it is admitted, the caller must call ``closed(_:)`` once.
    func admit(_ address: PeerAddress, at now: NIODeadline) -> Verdict {
        state.withLock { state in
            let now = now.uptimeNanoseconds
            let isSuspect = (state.suspects[address] ?? 0) > now
            guard state.connects.admits(address, at: now, weight: isSuspect ? 2 : 1) else { return .tooManyConnects }
            let open = state.open[address, default: 0]
            guard limits.open == 0 || open < limits.open else { return .tooManyOpen }
            guard budget.reserve() else { return .outOfFiles }
            state.open[address] = open + 1
            return .admitted
        }
    }

    /// A connection that was admitted has ended.
    func closed(_ address: PeerAddress) {
        state.withLock { state in
            guard let open = state.open[address] else { return }
            budget.release()
            state.open[address] = open > 1 ? open - 1 : nil
        }
    }

    /// Counts the address's connects double for a while.
    func suspect(_ address: PeerAddress, at now: NIODeadline) {
        state.withLock { state in
            if state.suspects[address] == nil, state.suspects.count >= Self.maximumSuspects {
                state.suspects = state.suspects.filter { $0.value > now.uptimeNanoseconds }
                if state.suspects.count >= Self.maximumSuspects,
                    let oldest = state.suspects.min(by: { $0.value < $1.value })?.key
                {
                    state.suspects[oldest] = nil
                }
            }
            state.suspects[address] = (now + Self.suspicion).uptimeNanoseconds
        }
    }
}
