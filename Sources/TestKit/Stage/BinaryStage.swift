import Matching
import Notifications

/// Shows the notifications of a connection of the binary API to the observer, and does to them and to the connection what
/// rehearsals want.
final class BinaryStage: BinaryScene {
    private weak var performer: (any BinaryPerformer)?
    private let observation: RequestObservation
    private let environment: Environment
    /// The connection's number in the journal.
    private let number: UInt64
    private let serverName: String?
    private let team: () -> TeamID?
    /// Whether a notification has arrived. Also true if the connection began before anybody observed.
    private var isUsed: Bool
    /// The journal's numbers of the notifications about which nothing was decided, by ticket. The connection limits how many
    /// there are.
    private var numbers: [UInt64: UInt64] = [:]
    /// The faults that happen after a notification was accepted, by its ticket.
    private var faults: [UInt64: RequestFault] = [:]
    /// The ticket of a notification that is handed over late. Nothing is read meanwhile, so that the order is kept.
    private var delayed: UInt64?
    /// Whether the connection neither reads nor answers any more.
    private var isHanging = false

    init(
        _ performer: any BinaryPerformer,
        _ observation: RequestObservation,
        _ environment: Environment,
        number: UInt64,
        serverName: String?,
        team: @escaping () -> TeamID?,
    ) {
        self.performer = performer
        self.observation = observation
        self.environment = environment
        self.number = number
        self.serverName = serverName
        self.team = team
        isUsed = !observation.isActive
    }

    var isHolding: Bool { delayed != nil || isHanging }

    func received() { isUsed = true }

    func refused(_ status: BinaryStatus, _ facts: () -> RequestFacts) {
        guard observation.isActive else { return }
        var facts = facts()
        let answer = RequestAnswer(status)
        (facts.status, facts.reason, facts.outcome) = (answer.status, answer.reason, .rejected)
        observation.observer.answered(decision(facts).number, answer)
    }

    func performance(of ticket: UInt64, _ facts: () -> RequestFacts, later: @escaping () -> Void) -> Performance {
        guard observation.isActive else { return Performance() }
        let decision = decision(facts())
        numbers[ticket] = decision.number
        guard case .misbehave(_, let fault) = decision else { return Performance() }
        return perform(fault, on: ticket, later)
    }

    func mayAnswer(_ ticket: UInt64, _ status: BinaryStatus) -> Bool {
        guard !isHanging else { return false }
        guard status == .noErrors, let fault = faults.removeValue(forKey: ticket) else {
            decided(ticket, status)
            return true
        }
        if case .errorPacket(let status) = fault.kind {
            decide(ticket, status)
        } else {
            unanswered(ticket, isDiscarded: false)
            misbehave(fault)
        }
        return false
    }

    func ending() {
        isHanging = false
        faults = [:]
    }

    func ended() {
        ending()
        guard !isUsed, observation.isActive else { return }
        observation.observer.connectionUnused(
            UnusedConnection(number: number, environment: environment, interface: .binary, team: team()))
    }

    private func decision(_ facts: RequestFacts) -> RequestDecision {
        var facts = facts
        facts.connection = number
        facts.serverName = serverName
        return observation.observer.decided(facts)
    }
}

// MARK: - The faults of rehearsals

extension BinaryStage {
    private func perform(_ fault: RequestFault, on ticket: UInt64, _ later: @escaping () -> Void) -> Performance {
        switch fault.kind {
        case .errorPacket(let status) where !fault.isAccepted:
            decide(ticket, status)
            return Performance(times: 0)
        case .lose:
            decide(ticket, .noErrors)
            return Performance(times: 0)
        case .delay(let delay):
            handOver(ticket, after: delay, later)
            return Performance(times: 0)
        case .close where !fault.isAccepted, .hang where !fault.isAccepted:
            performer?.withdraw(ticket)
            unanswered(ticket, isDiscarded: true)
            misbehave(fault)
            return Performance(times: 0)
        case .close, .hang, .errorPacket:
            faults[ticket] = fault
            return Performance()
        case .duplicate(let count):
            // All copies have the same ticket. The first answer to it is used.
            return Performance(times: count)
        case .answer, .goAway, .reset, .settings, .omit:
            return Performance()
        }
    }

    private func misbehave(_ fault: RequestFault) {
        isHanging = true
        switch fault.kind {
        // Read nothing more from the socket. Bytes that were read already are processed first.
        case .close(let kind): performer?.later(.zero) { [weak self] in self?.performer?.close(kind) }
        case .hang: performer?.later(RequestFault.longest) { [weak self] in self?.closeIfHanging() }
        case .answer, .goAway, .reset, .delay, .lose, .duplicate, .settings, .omit, .errorPacket: break
        }
    }

    private func closeIfHanging() {
        if isHanging { performer?.close(.fin) }
    }

    private func handOver(_ ticket: UInt64, after delay: Duration, _ later: @escaping () -> Void) {
        delayed = ticket
        performer?.later(delay) { [weak self] in
            guard let self, delayed == ticket else { return }
            delayed = nil
            later()
            performer?.resume()
        }
    }
}

// MARK: - What the observer sees

extension BinaryStage {
    private func decide(_ ticket: UInt64, _ status: BinaryStatus) {
        decided(ticket, status)
        performer?.decide(ticket, status)
    }

    private func decided(_ ticket: UInt64, _ status: BinaryStatus) {
        guard let number = numbers.removeValue(forKey: ticket) else { return }
        observation.observer.answered(number, RequestAnswer(status))
        if status != .noErrors { discardOthers(after: ticket) }
    }

    private func unanswered(_ ticket: UInt64, isDiscarded: Bool) {
        guard let number = numbers.removeValue(forKey: ticket) else { return }
        observation.observer.unanswered(number, isDiscarded: isDiscarded)
    }

    /// The notifications after a faulty one are discarded (Guide, 3.1.2).
    private func discardOthers(after ticket: UInt64) {
        for (other, number) in numbers where other > ticket {
            numbers[other] = nil
            observation.observer.unanswered(number, isDiscarded: true)
        }
    }
}

extension RequestAnswer {
    /// The number of the error packet's status (Guide, Table A-4), or 200 for an accepted notification, which gets no
    /// packet.
    fileprivate init(_ status: BinaryStatus) {
        switch status {
        case .noErrors: self.init(status: 200)
        default: self.init(status: Int(clamping: status.rawValue), reason: status.reason)
        }
    }
}
