/// The notifications that a provider has sent on the binary API and keeps until the service has confirmed them
/// (Guide, 3.1.2).
///
/// A connection sends a limited number of notifications in order, and then a probe. The probe's error packet
/// confirms all notifications before it. An error packet for another notification confirms those before that one.
/// Those after it are sent again on the next connection: the service discarded them, but after a shutdown or a
/// processing error it may have accepted some. A pure state machine over positions in the caller's list.
struct BinaryWindow {
    /// The first position without an outcome.
    private(set) var first = 0
    /// The outcomes by position; nil if the outcome is not known yet.
    private(set) var outcomes: [BinaryOutcome?]
    /// Whether a connection could be opened.
    private(set) var hasConnected = false
    /// The position after the last one that a connection with an unknown result may have delivered.
    private var doubtful = 0
    private var failures = 0
    private let limits: Limits

    /// The limits of a window, each with the reason for its value.
    struct Limits: Sendable, Hashable {
        /// The number of notifications that are sent before the probe, and so the number that may have to be sent
        /// again.
        var kept = 10_000
        /// The number of connections in a row that may end without a confirmation before the rest fails.
        var attempts = 4
        /// The delay before the second attempt. Each further delay is twice as long.
        var delay = Duration.seconds(1)
    }

    /// How a connection ended.
    enum End: Sendable, Hashable {
        case packet(BinaryErrorCode, identifier: UInt32)
        /// The connection ended without an error packet, so it is unknown which notifications were accepted.
        case lost(ProviderError)
    }

    /// What to do next.
    enum Step: Hashable {
        /// Send ``BinaryWindow/next`` on another connection after this delay.
        case connect(after: Duration)
        case finished
    }

    /// The identifier of the probe. Positions never reach it.
    static let probe = UInt32.max

    init(count: Int, limits: Limits = Limits()) {
        outcomes = Array(repeating: nil, count: count)
        self.limits = limits
    }

    /// The positions that are sent on the next connection.
    var next: Range<Int> { first..<min(outcomes.count, first + limits.kept) }

    /// Returns the identifier of a position in the binary API. It is never 0, which the service sends if it does not
    /// know the identifier.
    static func identifier(_ position: Int) -> UInt32 { UInt32(truncatingIfNeeded: position + 1) }

    /// Handles a connection that could not be opened.
    mutating func notConnected(_ error: ProviderError) -> Step { failed(error) }

    /// Handles the end of the connection on which ``next`` was sent.
    mutating func ended(_ end: End) -> Step {
        hasConnected = true
        let sent = next
        guard case .packet(let code, let identifier) = end else {
            guard case .lost(let error) = end else { return .finished }
            doubtful = max(doubtful, sent.upperBound)
            return failed(error)
        }
        if identifier == Self.probe, code == .missingDeviceToken {
            setOutcome(.accepted, before: sent.upperBound)
            return proceed()
        }
        let position = Int(identifier) - 1  // fits: 32 bits
        if code == .shutdown || code == .processingError {
            // The service may have accepted later notifications before it knew of the failure, or of its end.
            doubtful = max(doubtful, sent.upperBound)
        }
        if code == .shutdown, identifier == 0 || sent.contains(position) {
            let news = position >= sent.lowerBound
            if news { setOutcome(.accepted, before: position + 1) }  // fits: 32 bits
            return news ? proceed() : failed(ProviderError(.connectionLost, "The service shut down."))
        }
        guard sent.contains(position) else {
            doubtful = max(doubtful, sent.upperBound)
            return failed(ProviderError(.connectionLost, "The service ended the connection: \(code)."))
        }
        let news = position > first
        setOutcome(.accepted, before: position)
        if code == .processingError, news || failures + 1 < limits.attempts {
            // The next attempt may succeed, so this notification is sent first.
            failures = news ? 1 : failures + 1
            return .connect(after: limits.delay * (1 << (failures - 1)))
        }
        setOutcome(.refused(code), before: position + 1)  // fits: 32 bits
        return proceed()
    }

    /// Sets the outcome of all open positions before `end`.
    private mutating func setOutcome(_ outcome: BinaryOutcome, before end: Int) {
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
            giveUp(error)
            return .finished
        }
        return .connect(after: limits.delay * (1 << (failures - 1)))
    }

    /// Fails everything that has no outcome. What was sent may have been delivered, unless the service has said otherwise.
    mutating func giveUp(_ error: ProviderError) {
        setOutcome(.failed(error.with(mayHaveBeenTaken: true)), before: min(doubtful, outcomes.count))
        setOutcome(.failed(error.with(mayHaveBeenTaken: false)), before: outcomes.count)
    }
}
