import Delivery
import Notifications
import Trust

/// The values that only a request has that was sent with the key of a grant.
final class GrantedRequest {
    let grant: Grant
    /// The service's time when the headers had arrived.
    let time: Timestamp
    /// The topic and the handle, after the checks of the headers; nil before.
    fileprivate(set) var address: (topic: AddressedTopic, handle: Handle)?
    /// The refusal that follows from the headers; nil if there is none.
    fileprivate(set) var refusal: Rejection?
    /// Whether the device token of the handle is in the request's path.
    var isResolved = false

    init(_ grant: Grant, at time: Timestamp) {
        self.grant = grant
        self.time = time
    }
}

extension ProviderRequest {
    /// The grant whose key has signed the request's provider token; nil for other requests.
    var grantID: GrantID? {
        if case .token(let token) = sender { token.grant } else { nil }
    }
}

// The checks of a request of a grant. docs/gateway.md documents their order.
extension RequestRules {
    /// Makes the checks that need only the headers.
    func decide(_ request: ProviderRequest, _ granted: GrantedRequest) {
        do throws(Rejection) {
            try make(RequestCheck.ofShape, of: request)
            try make(RequestCheck.ofSender, of: request)
            let upstream = request.topic.present?.upstream(in: environment)
            let refusal = try checkForm(request, comparing: upstream)
            guard let topic = request.topic.present, let app = topic.app else { throw Rejection(.missingTopic) }
            // The limits bind also if the upstream compares its answers.
            try granted.grant.limits.check(
                GrantLimits.Request(
                    topic: topic.name, pushType: request.pushType.present, priority: priority(of: request)),
                at: granted.time)
            let handle = try handle(in: request.path)
            granted.address = (topic, handle)
            guard let upstream else { return }
            // The device token of the handle takes the place of these bytes.
            request.forwarded = ForwardedRequest(upstream: upstream, topic: topic, app: app, token: handle.bytes)
            request.forwarded?.refusal = refusal
        } catch {
            granted.refusal = error
        }
    }

    /// The priority for the limits: 10 if there is no header (Guide, Table 8-2); nil if its value is none.
    private func priority(of request: ProviderRequest) -> Priority? {
        if case .absent = request.priority { .immediate } else { request.priority.present }
    }

    /// A grant sends to its handles only. A device token is refused before anything is looked up.
    private func handle(in path: ProviderRequest.Path) throws(Rejection) -> Handle {
        switch path {
        case .deviceToken(let token):
            if let handle = Handle(token.array) { return handle }
        case .otherDeviceToken: break
        case .badDeviceToken(let detail): throw Rejection(.badDeviceToken, detail: detail)
        case .bad, .withoutDeviceToken, .broadcast: throw Rejection(.missingDeviceToken)
        }
        throw .noHandle
    }
}

extension Rejection {
    static let noHandle = Rejection(
        .badDeviceToken, detail: "A grant sends to the handles that its client key has made, and this is none of them.")

    /// Another grant has made the handle, or it is for another environment.
    /// - Returns: nil if the grant may use the handle in the environment.
    static func ofHandle(_ stored: StoredHandle, _ grant: GrantID, _ environment: Environment) -> Rejection? {
        guard stored.grant == grant else {
            return Rejection(.deviceTokenNotForTopic, detail: "The handle belongs to another grant.")
        }
        guard stored.environment == environment else {
            return Rejection(
                .badDeviceToken,
                detail: "The handle is for the \(stored.environment.rawValue) environment.")
        }
        guard let end = stored.end else { return nil }
        return Rejection(
            end.reason, timestamp: end.moment.milliseconds,
            detail: "The upstream has said so. It is so until the app registers its device token again.")
    }
}
