import Delivery
import Notifications
import Trust

/// The checks of a request. Their order is fixed: if several things are wrong, it decides which reason the provider
/// gets.
///
/// The order is: the shape of the request, the sender, each header, the topic and the device token, and last the
/// payload. docs/provider-api.md documents it.
struct RequestRules: Sendable {
    let environment: Environment
    var conformance: Conformance
    let tokenKeys: SharedTokenKeys
    /// Device tokens that tests have named; nil outside the development environment.
    var names: NamedTokens?
    /// Whether an app's own device token is only for the app, and each service needs its own (docs/device-protocol.md).
    var tokensByService = false
    /// Returns the address of the other environment's provider API; nil if the service does not serve it.
    var otherAddress: @Sendable () -> String? = { nil }
    /// Makes what the service does not know; nil if the client may not use it.
    var firstSight: (any FirstSight)?

    /// These rules for a client that may or may not use device tokens that the service does not know.
    func using(_ firstSight: (any FirstSight)?) -> RequestRules {
        guard firstSight != nil else { return self }
        var rules = self
        rules.firstSight = firstSight
        return rules
    }

    /// Makes all checks that need only the headers.
    func check(_ request: ProviderRequest) throws(Rejection) -> ProviderRequest.Addressed {
        try checkShape(request)
        try checkTrust(request)
        try checkFields(request)
        return try address(request, try checkTopic(request))
    }

    /// Opens the device token, and compares it with the topic.
    func address(
        _ request: ProviderRequest,
        _ topic: AddressedTopic,
    ) throws(Rejection) -> ProviderRequest.Addressed {
        let (contents, deviceToken) = try open(request.path, topic)
        guard let app = topic.app, contents.app == app.id else {
            let detail = "The device token belongs to another app than the topic \(topic.name)."
            throw Rejection(.deviceTokenNotForTopic, detail: detail)
        }
        guard contents.isFor(topic.kind, isStrict: tokensByService) else {
            let owner = contents.service.serviceName.map { "the service \($0)" } ?? "the app itself"
            let detail = "The device token is for \(owner), and not for the topic \(topic.name)."
            throw Rejection(.deviceTokenNotForTopic, detail: detail)
        }
        return ProviderRequest.Addressed(
            destination: Destination(environment: environment, device: contents.device, app: contents.app),
            generation: contents.number,
            topic: topic,
            deviceToken: deviceToken,
            activity: contents.activity,
        )
    }

    /// Opens the device token: only the service can read it (Guide, 2.1.4).
    /// - Parameter topic: the one that the request addresses, for a device token that has been named for several.
    private func open(
        _ path: ProviderRequest.Path,
        _ topic: AddressedTopic,
    ) throws(Rejection) -> (DeviceTokenContents, DeviceToken) {
        switch path {
        case .deviceToken(let token):
            if let contents = tokenKeys.open(token, environment: environment) { return (contents, token) }
            if let meaning = names?.meaning(of: token.array, app: topic.app?.id, service: topic.kind) {
                return (meaning.contents, token)
            }
            if let detail = detailOfOtherEnvironment(token) { throw Rejection(.badDeviceToken, detail: detail) }
            if let contents = contentsAtFirstSight(token.array, topic) { return (contents, token) }
            let detail = "This service did not give out the device token for its \(environment.rawValue) environment."
            throw Rejection(.badDeviceToken, detail: detail)
        case .otherDeviceToken(let token):
            if let meaning = names?.meaning(of: token, app: topic.app?.id, service: topic.kind) {
                return (meaning.contents, meaning.sealed)
            }
            // The store and the feedback service take a token of the service's own length.
            if let contents = contentsAtFirstSight(token, topic),
                let sealed = try? tokenKeys.current.seal(contents, environment: environment)
            {
                return (contents, sealed)
            }
            throw Rejection(.badDeviceToken, detail: ProviderRequest.otherSize(token.count * 2))
        case .badDeviceToken(let detail):
            throw Rejection(.badDeviceToken, detail: detail)
        case .bad, .withoutDeviceToken, .broadcast:
            throw Rejection(.missingDeviceToken)
        }
    }

    /// The contents of a device token that nobody gave out, if the client may use such tokens.
    private func contentsAtFirstSight(_ token: [UInt8], _ topic: AddressedTopic) -> DeviceTokenContents? {
        guard let firstSight, let app = topic.app else { return nil }
        return firstSight.contents(of: token, app: app.id, service: tokensByService ? topic.kind : .app)
    }

    /// Says that a device token is one of the other environment; nil if it is not. This is a common mistake.
    private func detailOfOtherEnvironment(_ token: DeviceToken) -> String? {
        let other: Environment = environment == .development ? .production : .development
        // Do not remember it among the opened tokens: it is not in use here.
        guard tokenKeys.current.open(token, environment: other) != nil else { return nil }
        let place = otherAddress().map { "send it to \($0)" } ?? "this service does not serve it"
        return "The device token is one of the \(other.rawValue) environment: \(place). This is "
            + "\(environment.rawValue)."
    }

    /// Returns whether the request passes the shape checks.
    func hasShape(_ request: ProviderRequest) -> Bool {
        do {
            try checkShape(request)
            return true
        } catch {
            return false
        }
    }

    /// Checks the shape: the method, the path, and that no header occurs twice.
    func checkShape(_ request: ProviderRequest) throws(Rejection) {
        guard request.isPost else { throw Rejection(.methodNotAllowed, detail: "The only method is POST.") }
        switch request.path {
        case .bad: throw Rejection(.badPath, detail: "The path must be /3/device/ and a device token.")
        case .withoutDeviceToken:
            throw Rejection(.missingDeviceToken, detail: "The path has no device token at its end.")
        case .deviceToken, .otherDeviceToken, .badDeviceToken: break
        case .broadcast: try request.broadcast?.checkPath()
        }
        if let header = request.repeated {
            throw Rejection(.duplicateHeaders, detail: "The request has \(header.name) more than once.")
        }
    }

    /// Checks the sender: the certificate or the provider token, as the connection has verified it.
    func checkTrust(_ request: ProviderRequest) throws(Rejection) {
        switch request.sender {
        case .unknown:
            let detail = "There is neither a provider certificate nor an authorization header with a provider token."
            throw Rejection(.missingProviderToken, detail: detail)
        case .rejected(let rejection): throw rejection
        case .undecided: throw .accountsNotCurrent
        case .token, .certificate, .management: break
        }
    }

    /// Checks the value of each header, without looking at other headers.
    func checkFields(_ request: ProviderRequest) throws(Rejection) {
        // The Guide's table has no reason for this. The closest one says that something is not allowed.
        if conformance == .strict, let fault = request.encodingFault {
            throw Rejection(.forbidden, detail: fault.text)
        }
        if case .bad(let detail) = request.id { throw Rejection(.badMessageID, detail: detail) }
        if conformance == .strict, let id = request.id.present, id.hasCapitals {
            let detail = "apns-id has capital letters; its canonical form has lowercase digits (Guide, Table 8-2)."
            throw Rejection(.badMessageID, detail: detail)
        }
        if case .bad(let detail) = request.expiration { throw Rejection(.badExpirationDate, detail: detail) }
        if case .bad(let detail) = request.priority { throw Rejection(.badPriority, detail: detail) }
        if case .bad(let detail) = request.collapseID { throw Rejection(.badCollapseID, detail: detail) }
        if case .bad(let detail) = request.pushType { throw Rejection(.invalidPushType, detail: detail) }
        if conformance == .strict, case .absent = request.pushType {
            throw Rejection(.invalidPushType, detail: "There is no apns-push-type; devices of today need it.")
        }
    }

    /// Checks the topic: that the request has one, that it is valid, that the sender may send to it, and that it fits
    /// the push type.
    func checkTopic(_ request: ProviderRequest) throws(Rejection) -> AddressedTopic {
        let topic: AddressedTopic
        switch request.topic {
        case .absent: throw Rejection(.missingTopic, detail: Self.missingTopic(request.sender))
        case .bad(let detail): throw Rejection(.badTopic, detail: detail)
        case .value(let value): topic = value
        }
        let app = try allowedApp(topic, request.sender)
        guard case .value(let type) = request.pushType else { return topic }
        guard let kind = type.topicKind else {
            // For a device management notification, the topic is the UID of the certificate's subject.
            guard case .certificate(let certificate) = request.sender, topic.name == certificate.uid else {
                let detail = "The push type mdm goes with the topic that is the UID of a provider certificate."
                throw Rejection(.topicDisallowed, detail: detail)
            }
            return topic
        }
        guard kind == topic.kind else {
            let detail = "The push type \(type.rawValue) goes with the topic \(app.bundleID.topic(kind))."
            throw Rejection(.topicDisallowed, detail: detail)
        }
        return topic
    }

    private static func missingTopic(_ sender: ProviderRequest.Sender) -> String {
        if case .certificate = sender { return "The certificate covers several topics, so apns-topic is required." }
        return "With a provider token the apns-topic header is required."
    }

    /// Returns the app that has this topic, if the sender may send to it.
    func allowedApp(_ topic: AddressedTopic, _ sender: ProviderRequest.Sender) throws(Rejection) -> App {
        switch sender {
        case .token(let token):
            guard let app = topic.app, app.team == token.team else {
                throw Rejection(.topicDisallowed, detail: "Team \(token.team) has no app with the topic \(topic.name).")
            }
            if let bundleIDs = token.bundleIDs, !bundleIDs.contains(app.bundleID) {
                throw Rejection(.topicDisallowed, detail: "The key \(token.key) is not for the app \(app.bundleID).")
            }
            return app
        case .certificate(let certificate):
            guard certificate.allows(topic.name) else {
                throw Rejection(.topicDisallowed, detail: "The certificate is not for the topic \(topic.name).")
            }
            guard let app = topic.app, app.bundleID.rawValue == certificate.uid else {
                let detail = "The topic \(topic.name) is not one of the app \(certificate.uid) here."
                throw Rejection(.forbidden, detail: detail)
            }
            return app
        case .management:
            guard let app = topic.app else {
                throw Rejection(.topicDisallowed, detail: "There is no app with the topic \(topic.name).")
            }
            return app
        case .unknown, .rejected, .undecided:
            throw Rejection(.forbidden)
        }
    }

    /// Parses the body.
    /// - Parameter pushType: decides with `strict` which keys the payload may have.
    func payload(of request: ProviderRequest, for pushType: PushType?) throws(Rejection) -> Payload {
        if request.isCompressed {
            throw Rejection(.payloadEmpty, detail: "The body must not be compressed.")
        }
        let payload: Payload
        do {
            payload = try Payload(request.body)
        } catch {
            throw Rejection(.payloadEmpty, detail: error.description)
        }
        if conformance == .strict, !payload.contents.contains(.aps) {
            throw Rejection(.payloadEmpty, detail: "The payload holds no aps dictionary.")
        }
        if conformance == .strict, let fault = StrictPayload.fault(in: request.body, for: pushType) {
            throw Rejection(.payloadEmpty, detail: fault)
        }
        return payload
    }

    /// Makes the checks that need the body.
    func checkBody(of request: ProviderRequest, to topic: AddressedTopic) throws(Rejection) {
        _ = try priority(of: request, to: topic, payload(of: request, for: request.pushType.present))
    }

    /// Parses the body and creates the notification.
    func notification(
        _ request: ProviderRequest,
        to addressed: ProviderRequest.Addressed,
        id: NotificationID,
    ) throws(Rejection) -> Notification {
        try notification(request, to: addressed.topic, activity: addressed.target, id: id)
    }

    func notification(
        _ request: ProviderRequest,
        to topic: AddressedTopic,
        activity: ActivityTarget?,
        id: NotificationID,
    ) throws(Rejection) -> Notification {
        let payload = try payload(of: request, for: request.pushType.present)
        return Notification(
            id: id,
            topic: topic.name,
            pushType: request.pushType.present,
            priority: try priority(of: request, to: topic, payload),
            expiration: request.expiration.present ?? .unspecified,
            collapseID: request.collapseID.present,
            activity: activity,
            payload: payload,
        )
    }

    /// Returns the priority. A background notification, or one whose payload has only content-available, must not
    /// have priority 10 (Guide, Table 8-2). Without the header, such a notification gets priority 5. This applies
    /// only to the app's own topic with push type `background` or none: calls and complications are urgent with any
    /// payload.
    private func priority(
        of request: ProviderRequest,
        to topic: AddressedTopic,
        _ payload: Payload,
    ) throws(Rejection) -> Priority {
        let type = request.pushType.present
        let isBackground = type == .background
        let isSilent = payload.isSilent && type == nil && topic.kind == .app
        guard isSilent || isBackground else { return request.priority.present ?? .immediate }
        switch request.priority.present {
        case .immediate:
            let detail =
                isBackground
                ? "Priority 10 is not for background notifications; use 5."
                : "Priority 10 must trigger an alert, sound or badge; this payload holds only content-available."
            throw Rejection(.badPriority, detail: detail)
        case nil where conformance == .strict:
            let detail = "Without apns-priority the priority is 10, which is not for a silent notification."
            throw Rejection(.badPriority, detail: detail)
        case let priority:
            return priority ?? .considerate
        }
    }
}

extension ProviderRequest.Field {
    /// The value if it is valid, otherwise nil.
    var present: Value? {
        if case .value(let value) = self { value } else { nil }
    }
}
