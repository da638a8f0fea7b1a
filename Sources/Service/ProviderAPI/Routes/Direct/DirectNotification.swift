package import Delivery
package import Matching
import NIOCore
package import Notifications
import Trust

/// A notification from the management API. It has the values that a provider's request has in its path and its
/// headers, as text.
package struct DirectNotification: Sendable {
    package var token: String
    package var topic: String
    package var payload: [UInt8]
    package var id: String?
    package var expiration: UInt64?
    package var priority: Int?
    package var collapseID: String?
    package var pushType: String?

    package init(token: String, topic: String, payload: [UInt8]) {
        self.token = token
        self.topic = topic
        self.payload = payload
    }
}

/// How the provider API's rules judge a notification that is not sent.
package struct DirectCheck: Sendable {
    /// Why it would be rejected; nil if it would be accepted.
    package var rejection: Rejection?
    /// Why `--conformance strict` would reject it; nil if it would not.
    package var strictRejection: Rejection?
    /// The size of the payload in bytes.
    package var bytes: Int
    /// The largest payload for the topic, in bytes; nil if no app has the topic.
    package var maximumBytes: Int?
}

extension ProviderAPI {
    /// Submits a notification after all checks of the provider API, except those of the sender.
    /// - Parameter decided: called with the decision, before it has any effect.
    /// - Returns: the notification's identifier, and the outcome that a provider would be told.
    package func submit(
        _ direct: DirectNotification,
        decided: (RequestFacts) -> Void,
    ) async -> (id: NotificationID, outcome: Outcome) {
        let request = request(direct)
        let id = request.id.present ?? newIdentifier()
        do throws(Rejection) {
            // The caller has the key of the management API.
            let rules = rules.using(firstSight)
            switch try decide(request, by: rules) {
            case .upstream(let push):
                try check(request, for: push, by: rules)
                var facts = request.facts(direct, nil, nil, id: id, at: clock.time, by: rules)
                facts.isForwarded = true
                decided(facts)
                return (id, await forward(request, push, id))
            case .device(let push):
                let submission = try submission(of: request, push, id: id, by: rules)
                decided(request.facts(direct, submission, nil, id: id, at: clock.time, by: rules))
                return (id, await submit(submission))
            case .broadcast, .grant, .handles, .refusal: throw Rejection(.internalServerError)
            }
        } catch {
            request.kind = .refusal(error)
            decided(request.facts(direct, nil, error, id: id, at: clock.time, by: rules))
            return (id, .rejected(record(error, of: request, id)))
        }
    }

    /// Checks a notification by these rules and by those of `strict`, and does not send it. It does not count for any
    /// rate.
    package func check(_ direct: DirectNotification) async -> DirectCheck {
        let request = request(direct)
        return DirectCheck(
            rejection: await rejection(of: request, by: rules),
            strictRejection: await rejection(of: request, by: strictRules),
            bytes: direct.payload.count,
            maximumBytes: request.topic.present.flatMap { topic in topic.app.map { _ in topic.payloadLimit } })
    }

    var strictRules: RequestRules {
        var strictRules = rules
        strictRules.conformance = .strict
        return strictRules
    }

    private func rejection(of request: ProviderRequest, by rules: RequestRules) async -> Rejection? {
        do throws(Rejection) {
            switch try decide(request, by: rules) {
            case .upstream(let push):
                // The upstream may refuse it all the same.
                try check(request, for: push, by: rules)
                return nil
            case .device(let push):
                let submission = try submission(of: request, push, id: newIdentifier(), by: rules)
                return await delivery.refusal(of: submission).map(inClientTime)
            case .broadcast, .grant, .handles, .refusal: throw Rejection(.internalServerError)
            }
        } catch {
            return error
        }
    }

    /// Decides what a request of the management API asks for.
    func decide(_ request: ProviderRequest, by rules: RequestRules) throws(Rejection) -> RequestKind {
        guard accounts.isCurrent else { throw .accountsNotCurrent }
        request.kind = rules.kind(of: request, in: accounts.current, at: clock.time)
        if case .refusal(let rejection) = request.kind { throw rejection }
        return request.kind
    }

    /// The request that a provider would have sent.
    private func request(_ direct: DirectNotification) -> ProviderRequest {
        let request = ProviderRequest([(.path, "/3/device/" + direct.token)] + direct.headers, direct.payload)
        request.topic = topic(direct.topic)
        return request
    }

    func record(_ rejection: Rejection, of request: ProviderRequest, _ id: NotificationID) -> Rejection {
        deliveryLog.record(
            DeliveryEvent(time: clock.time, step: .rejected(rejection.reason), subject: request.subject(id)))
        return rejection
    }

    func newIdentifier() -> NotificationID {
        var system = SystemRandomNumberGenerator()
        var identifiers = IdentifierGenerator(seededBy: &system)
        return .random(using: &identifiers)
    }

    private func submission(
        of request: ProviderRequest,
        _ push: DevicePush,
        id: NotificationID,
        by rules: RequestRules,
    ) throws(Rejection) -> Submission {
        Submission(
            destination: push.destination,
            deviceToken: push.deviceToken,
            generation: push.generation,
            notification: try rules.notification(request, to: push, id: id),
            ticket: 0,
        )
    }

    private func topic(_ name: String) -> ProviderRequest.Field<AddressedTopic> {
        guard !name.isEmpty else { return .absent }
        guard name.utf8.count <= BundleID.maximumTopicBytes, BundleID.isTopic(name) else {
            return .bad("The topic is not a bundle ID, with or without suffix.")
        }
        return .value(AddressedTopic(name: name, in: accounts.current))
    }

    private func submit(_ submission: Submission) async -> Outcome {
        let outcome = await OutcomeWaiter.outcome { delivery.submit([submission], answers: $0) }
        guard case .rejected(let rejection) = outcome else { return outcome }
        return .rejected(inClientTime(rejection))
    }
}

extension DirectNotification {
    fileprivate var headers: [(RequestHeader, String?)] {
        [
            (.id, id), (.expiration, expiration.map { "\($0)" }), (.priority, priority.map { "\($0)" }),
            (.topic, topic), (.collapseID, collapseID), (.pushType, pushType),
        ]
    }
}

extension ProviderRequest {
    /// A request from the management API.
    convenience init(_ headers: [(RequestHeader, String?)], _ payload: [UInt8]) {
        self.init(began: .now())
        method = .post
        sender = .management
        for (header, text) in headers {
            if let text { read(header, Array(text.utf8).span) }
        }
        body = payload
        received = payload.count
    }

    /// Returns the request as the journal shows it, with the headers that a provider would have sent.
    fileprivate func facts(
        _ direct: DirectNotification,
        _ submission: Submission?,
        _ rejection: Rejection?,
        id: NotificationID,
        at time: Timestamp,
        by rules: RequestRules,
    ) -> RequestFacts {
        var facts = RequestFacts(
            time: time, connection: 0, environment: rules.environment, interface: .management,
            team: topic.present?.app?.team,
            headers: RequestFacts.headers(direct.headers),
            token: direct.token.lowercased(), device: submission?.destination.device ?? device(by: rules),
            topic: direct.topic, pushType: direct.pushType, apnsID: id, collapseID: direct.collapseID,
            body: submission?.notification.payload.json ?? body, status: rejection?.reason.status ?? 200,
            reason: rejection?.reason.rawValue)
        facts.activityToken = submission?.notification.activity.map { RequestFacts.ActivityTokenKind($0) }
        return facts
    }
}

extension RequestFacts {
    /// The headers that a request from the management API would have.
    static func headers(_ headers: [(RequestHeader, String?)]) -> [Header] {
        headers.compactMap { header, value in value.map { Header(name: "\(header.name)", value: $0) } }
    }
}
