/// What a provider has sent and keeps until it is safe (Guide, 3.1.2).
///
/// Notifications go out in their order, so many of them on one connection, and after them a probe whose error packet says
/// that all before it are safe. An error packet for another one says as much of those before that one; those after it were
/// discarded and go out again on the next connection. A pure state machine over positions in the caller's list.
struct BinaryWindow {
    /// The first position that is not settled.
    private(set) var first = 0
    /// Nil for what is not settled yet.
    private(set) var outcomes: [BinaryOutcome?]
    private var failures = 0
    private let limits: Limits

    /// The bounds of a window, each with the reason for its value.
    struct Limits: Sendable, Hashable {
        /// How many are sent before the service is asked whether all are safe: what is kept for sending it again.
        var kept = 10_000
        /// How many connections in a row may end without any news before the rest is given up.
        var attempts = 4
        /// How long the second attempt of them waits; each further one waits twice as long.
        var delay = Duration.seconds(1)
    }

    /// How a connection ended.
    enum End: Sendable, Hashable {
        case packet(BinaryErrorCode, identifier: UInt32)
        /// Without a word: what of it was accepted, nobody knows.
        case lost(ProviderError)
    }

    /// What to do next.
    enum Step: Hashable {
        /// Send ``BinaryWindow/next`` on another connection, after a while.
        case connect(after: Duration)
        case finished
    }

    /// The identifier of the probe; positions never reach it.
    static let probe = UInt32.max

    init(count: Int, limits: Limits = Limits()) {
        outcomes = Array(repeating: nil, count: count)
        self.limits = limits
    }

    /// The positions that go out on the next connection.
    var next: Range<Int> { first..<min(outcomes.count, first + limits.kept) }

    /// What a position is known by to the service: never 0, which it says when it does not know.
    static func identifier(_ position: Int) -> UInt32 { UInt32(truncatingIfNeeded: position + 1) }

    /// The connection on which ``next`` was sent has ended.
    mutating func ended(_ end: End) -> Step {
        let sent = next
        guard case .packet(let code, let identifier) = end else {
            guard case .lost(let error) = end else { return .finished }
            return failed(error)
        }
        if identifier == Self.probe, code == .missingDeviceToken {
            settle(sent.upperBound, .accepted)
            return proceed()
        }
        let position = Int(identifier) - 1
        if code == .shutdown, identifier == 0 || sent.contains(position) {
            let news = position >= sent.lowerBound
            if news { settle(position + 1, .accepted) }
            return news ? proceed() : failed(ProviderError(.connectionLost, "The service shut down."))
        }
        guard sent.contains(position) else {
            return failed(
                ProviderError(.connectionLost, "The service ended the connection: \(code).", mayHaveBeenTaken: true))
        }
        let news = position > first
        settle(position, .accepted)
        if code == .processingError, news || failures + 1 < limits.attempts {
            // It may do better next time, and so it goes out first.
            failures = news ? 1 : failures + 1
            return .connect(after: limits.delay * (1 << (failures - 1)))
        }
        settle(position + 1, .refused(code))
        return proceed()
    }

    /// Settles everything before the position.
    private mutating func settle(_ end: Int, _ outcome: BinaryOutcome) {
        for position in first..<max(first, end) { outcomes[position] = outcome }
        first = max(first, end)
    }

    private mutating func proceed() -> Step {
        failures = 0
        return first < outcomes.count ? .connect(after: .zero) : .finished
    }

    private mutating func failed(_ error: ProviderError) -> Step {
        failures += 1
        guard failures < limits.attempts, error.code != .badCredentials, error.code != .badEnvironment else {
            settle(outcomes.count, .failed(error))
            return .finished
        }
        return .connect(after: limits.delay * (1 << (failures - 1)))
    }
}
