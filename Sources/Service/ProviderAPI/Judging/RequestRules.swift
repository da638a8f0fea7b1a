import Delivery
import Notifications
import Trust

/// Makes the checks of a request. ``RequestCheck`` is the list of them, in their order.
struct RequestRules: Sendable {
    let environment: Environment
    var conformance: Conformance
    let tokenKeys: SharedTokenKeys
    let clock: ServiceClock
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

    /// What the checks of one request have found out so far.
    struct Findings {
        /// What the device token says, and the service's own token with this meaning.
        var device: (contents: DeviceTokenContents, token: DeviceToken)?
        /// The Live Activity that the device token is for.
        var activity: DeviceTokenContents.Activity?
        var payload: Payload?
        var priority: Priority?
    }

    /// Makes checks, and ends with the first that fails.
    func make(_ checks: [RequestCheck], of request: ProviderRequest) throws(Rejection) {
        var findings = Findings()
        try make(checks, of: request, &findings)
    }

    func make(
        _ checks: [RequestCheck],
        of request: ProviderRequest,
        _ findings: inout Findings,
    ) throws(Rejection) {
        for check in checks {
            do throws(Rejection) {
                try make(check, of: request, &findings)
            } catch {
                assert(check.reasons.contains(error.reason), "The check \(check.rawValue) gives \(error.reason).")
                throw error
            }
        }
    }

    private func make(
        _ check: RequestCheck,
        of request: ProviderRequest,
        _ findings: inout Findings,
    ) throws(Rejection) {
        switch check {
        case .method: try checkMethod(of: request)
        case .path: try checkPath(of: request)
        case .repeatedHeaders: try checkRepeatedHeaders(of: request)
        case .sender: try checkSender(of: request)
        case .encoding: try checkEncoding(of: request)
        case .id: try checkID(of: request)
        case .expiration:
            if case .bad(let detail) = request.expiration { throw Rejection(.badExpirationDate, detail: detail) }
        case .priority: if case .bad(let detail) = request.priority { throw Rejection(.badPriority, detail: detail) }
        case .collapseID:
            if case .bad(let detail) = request.collapseID { throw Rejection(.badCollapseID, detail: detail) }
        case .pushType: try checkPushType(of: request)
        case .topic: try checkTopic(of: request)
        case .app: try checkApp(of: request)
        case .topicForPushType: try checkTopicForPushType(of: request)
        case .deviceToken: try openDeviceToken(of: request, &findings)
        case .appOfDeviceToken: try checkAppOfDeviceToken(of: request, findings)
        case .serviceOfDeviceToken: try checkServiceOfDeviceToken(of: request, findings)
        case .size: try checkSize(of: request)
        case .activity: try checkActivity(of: request, findings)
        case .payload: findings.payload = try payload(of: request, for: request.pushType.present)
        case .priorityForPayload: findings.priority = try priority(of: request, findings)
        }
    }

    /// Returns whether the request passes the shape checks.
    func hasShape(_ request: ProviderRequest) -> Bool {
        do {
            try make(RequestCheck.ofShape, of: request)
            return true
        } catch {
            return false
        }
    }
}

// The shape, the sender, and the value of each header without looking at others.
extension RequestRules {
    private func checkMethod(of request: ProviderRequest) throws(Rejection) {
        guard request.method == .post else { throw Rejection(.methodNotAllowed, detail: "The only method is POST.") }
    }

    private func checkPath(of request: ProviderRequest) throws(Rejection) {
        switch request.path {
        case .bad, .handles: throw Rejection(.badPath, detail: "The path must be /3/device/ and a device token.")
        case .withoutDeviceToken:
            throw Rejection(.missingDeviceToken, detail: "The path has no device token at its end.")
        case .deviceToken, .otherDeviceToken, .badDeviceToken: break
        case .broadcast(nil):
            throw Rejection(.badPath, detail: "The path must be /4/broadcasts/apps/ and a bundle ID.")
        case .broadcast: break
        }
    }

    private func checkRepeatedHeaders(of request: ProviderRequest) throws(Rejection) {
        guard let header = request.repeated else { return }
        throw Rejection(.duplicateHeaders, detail: "The request has \(header.name) more than once.")
    }

    /// Checks the certificate or the provider token, as the connection has verified it.
    private func checkSender(of request: ProviderRequest) throws(Rejection) { try request.sender.check() }

    private func checkEncoding(of request: ProviderRequest) throws(Rejection) {
        // The Guide's table has no reason for this. The closest one says that something is not allowed.
        guard conformance == .strict, let fault = request.encodingFault else { return }
        throw Rejection(.forbidden, detail: fault.text)
    }

    private func checkID(of request: ProviderRequest) throws(Rejection) {
        if case .bad(let detail) = request.id { throw Rejection(.badMessageID, detail: detail) }
        guard conformance == .strict, let id = request.id.present, id.hasCapitals else { return }
        let detail = "apns-id has capital letters; its canonical form has lowercase digits (Guide, Table 8-2)."
        throw Rejection(.badMessageID, detail: detail)
    }

    private func checkPushType(of request: ProviderRequest) throws(Rejection) {
        switch request.pushType {
        case .bad(let detail): throw Rejection(.invalidPushType, detail: detail)
        case .absent where conformance == .strict:
            throw Rejection(.invalidPushType, detail: "There is no apns-push-type; devices of today need it.")
        case .absent, .value: break
        }
    }
}

extension ProviderRequest.Sender {
    /// Throws unless the sender has shown who it is.
    func check() throws(Rejection) {
        switch self {
        case .unknown:
            let detail = "There is neither a provider certificate nor an authorization header with a provider token."
            throw Rejection(.missingProviderToken, detail: detail)
        case .rejected(let rejection): throw rejection
        case .undecided: throw .accountsNotCurrent
        case .token, .certificate, .management: break
        }
    }
}
