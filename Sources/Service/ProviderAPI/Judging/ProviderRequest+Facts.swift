import Delivery
import Matching
import Notifications
import Trust

extension ProviderRequest {
    /// Returns the request as its scene gets it.
    /// - Parameters:
    ///   - submission: that of an accepted notification to a device.
    ///   - rejection: why the request is refused; nil if it is not.
    func facts(
        _ submission: Submission?,
        _ rejection: Rejection?,
        id: NotificationID,
        at time: Timestamp,
        by rules: RequestRules,
        _ accounts: AccountsSnapshot,
    ) -> RequestFacts {
        let (team, sender) = sender.shown(in: accounts)
        var facts = RequestFacts(
            time: time,
            connection: 0,
            environment: rules.environment,
            interface: .http2,
            team: team ?? topicName.flatMap { accounts.app(forTopic: $0)?.app.team },
            sender: sender,
            device: submission?.destination.device ?? device(by: rules),
            topic: topicName,
            pushType: pushType.present?.rawValue,
            apnsID: id,
            collapseID: collapseID.present?.rawValue,
            channel: channel.present?.rawValue,
            body: submission?.notification.payload.json ?? body,
            status: rejection?.reason.status ?? 200,
            reason: rejection?.reason.rawValue,
        )
        switch kind {
        case .upstream: facts.isForwarded = true
        case .grant(let push): facts.isForwarded = push.upstream != nil
        case .device(let push): facts.activityToken = push.target.map { RequestFacts.ActivityTokenKind($0) }
        case .broadcast, .handles, .refusal: break
        }
        facts.unknown = unknown(by: rules)
        return facts
    }

    /// What the service did not know of an accepted request.
    private func unknown(by rules: RequestRules) -> Set<RequestFacts.Unknown> {
        guard let firstSight = rules.firstSight else { return [] }
        var unknown: Set<RequestFacts.Unknown> = sender.isVerified ? [] : [.sender]
        guard case .device(let push) = kind else { return unknown }
        if firstSight.hasMade(push.destination.app) { unknown.insert(.topic) }
        let token: [UInt8]? =
            switch path {
            case .deviceToken(let token): token.array
            case .otherDeviceToken(let token): token
            case .badDeviceToken, .bad, .withoutDeviceToken, .broadcast, .handles: nil
            }
        if let token, firstSight.device(of: token) == push.destination.device { unknown.insert(.deviceToken) }
        return unknown
    }

    /// Returns the device that a rejected request's device token names; nil if the token cannot be opened.
    func device(by rules: RequestRules) -> DeviceID? {
        let (app, service) = (topic.present?.app?.id, topic.present?.kind ?? .app)
        func named(_ token: [UInt8]) -> DeviceID? {
            rules.names?.meaning(of: token, app: app, service: service)?.contents.device
                ?? rules.firstSight?.device(of: token)
        }
        switch path {
        case .deviceToken(let token):
            return rules.tokenKeys.open(token, environment: rules.environment)?.device ?? named(token.array)
        case .otherDeviceToken(let token):
            return named(token)
        case .badDeviceToken, .bad, .withoutDeviceToken, .broadcast, .handles: return nil
        }
    }
}

extension ProviderRequest.Sender {
    /// The team and the sender, as far as the sender is recognised.
    func shown(in accounts: AccountsSnapshot) -> (TeamID?, RequestFacts.Sender?) {
        switch self {
        case .token(let token): (token.team, .key(token.key))
        case .certificate(let certificate):
            (
                accounts.team(
                    ofCertificate: certificate.serial, uid: certificate.uid, foreignTeam: certificate.foreignTeam),
                .certificate(certificate.serial)
            )
        case .management, .unknown, .rejected, .undecided: (nil, nil)
        }
    }
}

extension RequestFacts.ActivityTokenKind {
    init(_ target: ActivityTarget) {
        switch target {
        case .start: self = .start
        case .one: self = .update
        }
    }
}
