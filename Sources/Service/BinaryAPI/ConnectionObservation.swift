import Connections
import Delivery
import Matching
import Notifications
import Trust

/// Reports a connection's notifications to the observer. Confined to the connection's event loop.
final class ConnectionObservation {
    private let observation: RequestObservation
    private let api: BinaryAPI
    /// The rules of this connection.
    private let rules: BinaryRules
    private let identity: ProviderIdentity
    /// The connection's number in the journal.
    private let number: UInt64
    private let serverName: String?
    /// Whether a notification has arrived. Also true if the connection began before anybody observed.
    private var isUsed: Bool
    /// The journal's numbers of the unanswered notifications, by ticket. The exchange limits how many there are.
    private var numbers: [UInt64: UInt64] = [:]

    /// - Parameter handshake: what observed the TLS handshake; nil if nothing did.
    init(
        _ identity: ProviderIdentity,
        _ api: BinaryAPI,
        _ rules: BinaryRules,
        _ observation: RequestObservation,
        _ handshake: (any HandshakeObservation)?,
    ) {
        self.identity = identity
        self.rules = rules
        self.api = api
        self.observation = observation
        number = handshake?.number ?? observation.observer.connectionOpened()
        serverName = handshake?.serverName
        isUsed = !observation.isActive
    }

    func began() { isUsed = true }

    /// Reports that the connection has ended.
    func ended() {
        guard !isUsed, observation.isActive else { return }
        let certificates = api.certificates
        observation.observer.connectionUnused(
            UnusedConnection(
                number: number, environment: certificates.environment, interface: .binary,
                team: team(certificates.accounts.current)))
    }

    /// Reports a valid notification before it is passed to `Delivery`.
    /// - Returns: What to do with it; nil if nobody observes.
    func submitted(_ notification: BinaryNotification, _ submission: Submission) -> RequestDecision? {
        guard observation.isActive else { return nil }
        var facts = facts(submission.notification.topic, id: submission.notification.id)
        describe(notification, in: &facts)
        facts.device = submission.destination.device
        if let firstSight = rules.firstSight {
            if firstSight.hasMade(submission.destination.app) { facts.unknown.insert(.topic) }
            if firstSight.device(of: notification.deviceToken.array) != nil { facts.unknown.insert(.deviceToken) }
        }
        let decision = observation.observer.decided(facts)
        numbers[submission.ticket] = decision.number
        return decision
    }

    /// Reports a rejected notification, which ends the connection.
    /// - Parameter notification: the notification; nil if it could not be read.
    func refused(_ notification: BinaryNotification?, _ status: BinaryStatus, _ topic: BinaryTopic, id: NotificationID)
    {
        guard observation.isActive else { return }
        var facts = facts(topic.name, id: id)
        if let notification {
            describe(notification, in: &facts)
            facts.device = rules.device(of: notification, topic.app)
        }
        let answer = RequestAnswer(status)
        (facts.status, facts.reason, facts.outcome) = (answer.status, answer.reason, .rejected)
        let number = observation.observer.decided(facts).number
        observation.observer.answered(number, answer)
    }

    /// Reports the answer that `Delivery` gave.
    func answered(_ ticket: UInt64, _ status: BinaryStatus) {
        guard let number = numbers.removeValue(forKey: ticket) else { return }
        observation.observer.answered(number, RequestAnswer(status))
        if status != .noErrors { discardOthers(after: ticket) }
    }

    /// Reports that there is no answer because of a rehearsal.
    func unanswered(_ ticket: UInt64, isDiscarded: Bool) {
        guard let number = numbers.removeValue(forKey: ticket) else { return }
        observation.observer.unanswered(number, isDiscarded: isDiscarded)
    }

    /// Reports that the notifications after a faulty one were discarded (Guide, 3.1.2).
    /// - Parameter ticket: the ticket of the faulty notification.
    private func discardOthers(after ticket: UInt64) {
        for (other, number) in numbers where other > ticket {
            numbers[other] = nil
            observation.observer.unanswered(number, isDiscarded: true)
        }
    }

    private func facts(_ topic: String, id: NotificationID) -> RequestFacts {
        let accounts = api.certificates.accounts.current
        var facts = RequestFacts(
            time: api.delivery.clock.time,
            connection: number,
            environment: api.certificates.environment,
            interface: .binary,
            team: team(accounts),
            sender: .certificate(identity.serial),
            topic: topic,
            apnsID: id,
        )
        if identity.foreignTeam != nil { facts.unknown.insert(.sender) }
        facts.serverName = serverName
        return facts
    }

    private func team(_ accounts: AccountsSnapshot) -> TeamID? {
        accounts.team(ofCertificate: identity.serial, uid: identity.uid, foreignTeam: identity.foreignTeam)
    }

    private func describe(_ notification: BinaryNotification, in facts: inout RequestFacts) {
        facts.token = notification.deviceToken.description
        facts.body = notification.payload.json
    }
}

extension RequestAnswer {
    /// The number of the error packet's status (Guide, Table A-4), or 200 for an accepted notification, which gets no
    /// packet.
    fileprivate init(_ status: BinaryStatus) {
        switch status {
        case .noErrors: self.init(status: 200)
        default: self.init(status: Int(status.rawValue), reason: status.reason)  // fits: a byte
        }
    }
}
