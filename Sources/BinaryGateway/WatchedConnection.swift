import Delivery
import Matching
import Notifications
import Trust

/// Shows a connection's notifications to whoever observes them. Confined to the connection's event loop.
final class WatchedConnection {
    private let watch: RequestWatch
    private let gateway: BinaryGateway
    private let identity: ProviderIdentity
    /// As observers count connections.
    private let number: UInt64
    /// The observer's numbers of the notifications that wait for their answers, by their tickets. The exchange bounds how
    /// many there are.
    private var numbers: [UInt64: UInt64] = [:]

    init(_ identity: ProviderIdentity, _ gateway: BinaryGateway, _ watch: RequestWatch) {
        self.identity = identity
        self.gateway = gateway
        self.watch = watch
        number = watch.observer.connectionOpened()
    }

    /// A good notification is about to be handed over.
    /// - Returns: what is to be done; nil if nobody observes.
    func taken(_ notification: BinaryNotification, _ submission: Submission) -> RequestDecision? {
        guard watch.isActive else { return nil }
        var facts = facts(submission.notification.topic, id: submission.notification.id)
        note(notification, &facts)
        facts.device = submission.destination.device
        facts.priority = submission.notification.priority
        let decision = watch.observer.decided(facts)
        numbers[submission.ticket] = decision.number
        return decision
    }

    /// What came is refused, and the connection ends with it.
    /// - Parameter notification: nil if it could not be read.
    func refused(_ notification: BinaryNotification?, _ status: BinaryStatus, _ topic: BinaryTopic, id: NotificationID)
    {
        guard watch.isActive else { return }
        var facts = facts(topic.name, id: id)
        if let notification {
            note(notification, &facts)
            facts.device = gateway.rules.device(of: notification, topic.app)
        }
        let answer = RequestAnswer(status)
        (facts.status, facts.reason, facts.outcome) = (answer.status, answer.reason, .rejected)
        let number = watch.observer.decided(facts).number
        watch.observer.answered(number, answer)
    }

    /// `Delivery` has answered.
    func answered(_ ticket: UInt64, _ status: BinaryStatus) {
        guard let number = numbers.removeValue(forKey: ticket) else { return }
        watch.observer.answered(number, RequestAnswer(status))
        if status != .noErrors { discardOthers(after: ticket) }
    }

    /// A rehearsal gives no answer.
    func unanswered(_ ticket: UInt64, isDiscarded: Bool) {
        guard let number = numbers.removeValue(forKey: ticket) else { return }
        watch.observer.unanswered(number, isDiscarded: isDiscarded)
    }

    /// What came after a faulty notification counts for nothing (Guide, 3.1.2).
    /// - Parameter ticket: the faulty one's.
    private func discardOthers(after ticket: UInt64) {
        for (other, number) in numbers where other > ticket {
            numbers[other] = nil
            watch.observer.unanswered(number, isDiscarded: true)
        }
    }

    private func facts(_ topic: String, id: NotificationID) -> RequestFacts {
        let accounts = gateway.certificates.accounts.current
        return RequestFacts(
            time: gateway.delivery.clock.time,
            connection: number,
            environment: gateway.certificates.environment,
            interface: .binary,
            team: accounts.certificates[identity.serial]?.team,
            sender: .certificate(identity.serial),
            topic: topic,
            apnsID: id,
        )
    }

    private func note(_ notification: BinaryNotification, _ facts: inout RequestFacts) {
        facts.token = notification.deviceToken.description
        facts.priority = notification.priority
        facts.body = notification.payload.json
    }
}

extension RequestAnswer {
    /// The number of an error packet (Guide, Table A-4); 200 for what is accepted, to which nothing is answered.
    fileprivate init(_ status: BinaryStatus) {
        switch status {
        case .noErrors: self.init(status: 200)
        default: self.init(status: Int(status.rawValue), reason: status.name)
        }
    }
}

extension BinaryStatus {
    /// As the journal has it.
    fileprivate var name: String {
        switch self {
        case .noErrors: "NoErrors"
        case .processingError: "ProcessingError"
        case .missingDeviceToken: "MissingDeviceToken"
        case .missingTopic: "MissingTopic"
        case .missingPayload: "MissingPayload"
        case .invalidTokenSize: "InvalidTokenSize"
        case .invalidTopicSize: "InvalidTopicSize"
        case .invalidPayloadSize: "InvalidPayloadSize"
        case .invalidToken: "InvalidToken"
        case .shutdown: "Shutdown"
        case .protocolError: "ProtocolError"
        case .unknown: "Unknown"
        }
    }
}
