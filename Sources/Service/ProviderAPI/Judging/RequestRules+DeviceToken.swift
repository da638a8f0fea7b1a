import Delivery
import Notifications
import Trust

// The device token: only the service can read it (Guide, 2.1.4).
extension RequestRules {
    /// Makes all checks that need only the headers.
    func check(_ request: ProviderRequest) throws(Rejection) -> DevicePush {
        try address(request, RequestCheck.ofHeaders)
    }

    /// Makes checks, of which the last ones are those of the device token.
    func address(
        _ request: ProviderRequest,
        _ checks: [RequestCheck] = RequestCheck.ofDeviceToken,
    ) throws(Rejection) -> DevicePush {
        var findings = Findings()
        try make(checks, of: request, &findings)
        guard let (contents, token) = findings.device, let topic = request.topic.present else {
            throw Rejection(.internalServerError)
        }
        return DevicePush(
            destination: Destination(environment: environment, device: contents.device, app: contents.app),
            generation: contents.number,
            topic: topic,
            deviceToken: token,
            activity: contents.activity,
        )
    }

    /// Opens the device token. One that has been named for several topics is that of the topic that the request addresses.
    func openDeviceToken(of request: ProviderRequest, _ findings: inout Findings) throws(Rejection) {
        guard let topic = request.topic.present else { return }
        switch request.path {
        case .deviceToken(let token):
            if let contents = tokenKeys.open(token, environment: environment) {
                return findings.device = (contents, token)
            }
            if let meaning = names?.meaning(of: token.array, app: topic.app?.id, service: topic.kind) {
                return findings.device = (meaning.contents, token)
            }
            if let detail = detailOfOtherEnvironment(token) { throw Rejection(.badDeviceToken, detail: detail) }
            if let contents = contentsAtFirstSight(token.array, topic) { return findings.device = (contents, token) }
            let detail = "This service did not give out the device token for its \(environment.rawValue) environment."
            throw Rejection(.badDeviceToken, detail: detailWithoutUpstream(topic) ?? detail)
        case .otherDeviceToken(let token):
            if let meaning = names?.meaning(of: token, app: topic.app?.id, service: topic.kind) {
                return findings.device = (meaning.contents, meaning.sealed)
            }
            // The store and the feedback service take a token of the service's own length.
            if let contents = contentsAtFirstSight(token, topic),
                let sealed = try? tokenKeys.current.seal(contents, environment: environment)
            {
                return findings.device = (contents, sealed)
            }
            let detail = detailWithoutUpstream(topic) ?? ProviderRequest.otherSize(token.count * 2)
            throw Rejection(.badDeviceToken, detail: detail)
        case .badDeviceToken(let detail):
            throw Rejection(.badDeviceToken, detail: detail)
        case .bad, .withoutDeviceToken, .broadcast, .handles:
            // The checks of the shape come first.
            throw Rejection(.badDeviceToken)
        }
    }

    /// Says that the app is forwarded in the other environment only; nil if it is not so.
    private func detailWithoutUpstream(_ topic: AddressedTopic) -> String? {
        guard topic.isForwardedElsewhere(than: environment), let app = topic.app else { return nil }
        return Rejection.detailWithoutUpstream(app.bundleID, environment)
    }

    /// The contents of a device token that nobody gave out, if the client may use such tokens.
    private func contentsAtFirstSight(_ token: [UInt8], _ topic: AddressedTopic) -> DeviceTokenContents? {
        guard let firstSight, let app = topic.app else { return nil }
        return firstSight.contents(of: token, app: app.id, service: tokensByService ? topic.kind : .app)
    }

    /// Says that a device token is one of the other environment; nil if it is not. This is a common mistake.
    func detailOfOtherEnvironment(_ token: DeviceToken) -> String? {
        let other: Environment = environment == .development ? .production : .development
        // Do not remember it among the opened tokens: it is not in use here.
        guard tokenKeys.current.open(token, environment: other) != nil else { return nil }
        let place = otherAddress().map { "send it to \($0)" } ?? "this service does not serve it"
        return "The device token is one of the \(other.rawValue) environment: \(place). This is "
            + "\(environment.rawValue)."
    }

    func checkAppOfDeviceToken(of request: ProviderRequest, _ findings: Findings) throws(Rejection) {
        guard let topic = request.topic.present, let contents = findings.device?.contents else { return }
        guard contents.app == topic.app?.id else {
            let detail = "The device token belongs to another app than the topic \(topic.name)."
            throw Rejection(.deviceTokenNotForTopic, detail: detail)
        }
    }

    func checkServiceOfDeviceToken(of request: ProviderRequest, _ findings: Findings) throws(Rejection) {
        guard let topic = request.topic.present, let contents = findings.device?.contents else { return }
        guard contents.isFor(topic.kind, isStrict: tokensByService) else {
            let owner = contents.service.serviceName.map { "the service \($0)" } ?? "the app itself"
            let detail = "The device token is for \(owner), and not for the topic \(topic.name)."
            throw Rejection(.deviceTokenNotForTopic, detail: detail)
        }
    }
}
