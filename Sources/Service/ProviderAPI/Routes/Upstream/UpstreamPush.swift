import Delivery
import Notifications

/// A notification that an upstream delivers. The upstream judges the device token; everything else is checked as always.
final class UpstreamPush {
    let upstream: AppUpstream
    let topic: AddressedTopic
    let app: App
    /// The bytes in the path's place for a device token. Of a grant's notification, those of its handle until the handle has
    /// been looked up.
    var token: [UInt8]
    /// The grant that sends it; nil if a team does.
    let grant: Grant?
    /// The service's time when the fields of a grant's notification were judged.
    let time: Timestamp?
    /// The client's provider token, if the upstream gets it as it came.
    var authorization: PassedAuthorization?
    /// Why this service would have refused the request, if the upstream's answer is compared; otherwise nil.
    var refusal: Rejection?
    /// What was forwarded, until it is answered, if it may have to be held.
    var copy: ForwardedPush?
    /// Whether it was handed to what forwards it, which gives one answer to each copy.
    var isHandedOver = false
    /// Whether the answer of one of several copies has come.
    var isAnswered = false

    init(
        _ upstream: AppUpstream,
        _ topic: AddressedTopic,
        _ app: App,
        token: [UInt8],
        grant: Grant? = nil,
        at time: Timestamp? = nil,
        refusal: Rejection?,
    ) {
        self.upstream = upstream
        self.topic = topic
        self.app = app
        self.token = token
        self.grant = grant
        self.time = time
        self.refusal = refusal
    }

    /// The largest body that is read of a request whose upstream's answer is compared, in bytes. It is larger than any
    /// payload may be, so that the upstream refuses it.
    static let maximumComparedBytes = 16_384

    var bodyRoom: BodyRoom {
        upstream.compares ? .compared(topic.payloadLimit, self) : .bytes(topic.payloadLimit)
    }

    /// Who the request is from.
    private var share: ForwardingShare {
        grant.map { ForwardingShare($0.id) } ?? ForwardingShare(app.team)
    }

    /// Makes what is forwarded.
    func makePush(of request: ProviderRequest, id: NotificationID, by name: GatewayName) -> ForwardedPush {
        var push = ForwardedPush(
            deviceToken: token, topic: topic.name, id: id.textAsSent.span.text, payload: request.body, share: share,
            via: name.via(after: request.via))
        push.authorization = authorization
        if let texts = request.texts {
            // The upstream judges the headers too.
            push.id = texts[.id] ?? push.id
            push.expiration = texts[.expiration]
            push.priority = texts[.priority]
            push.collapseID = texts[.collapseID]
            push.pushType = texts[.pushType]
        } else {
            push.expiration = request.expiration.present?.seconds.map { String($0) }
            push.priority = request.priority.present.map { String($0.rawValue) }
            push.collapseID = request.collapseID.present?.rawValue
            push.pushType = request.pushType.present?.rawValue
        }
        return push
    }
}

extension RequestRules {
    /// Makes all checks of a notification for an upstream that need only the headers.
    func push(_ request: ProviderRequest, to upstream: AppUpstream) throws(Rejection) -> UpstreamPush {
        try make(RequestCheck.ofShape, of: request)
        try make(RequestCheck.ofSender, of: request)
        let refusal = try checkForm(of: request, comparing: upstream)
        guard let topic = request.topic.present, let app = topic.app else { throw Rejection(.missingTopic) }
        return UpstreamPush(upstream, topic, app, token: try request.path.writtenToken(), refusal: refusal)
    }

    /// Checks the values of the headers, and the topic.
    /// - Parameter upstream: where the request goes; nil if its notification is delivered here.
    /// - Returns: the refusal, if the upstream compares its answer with it; nil if nothing is wrong.
    func checkForm(of request: ProviderRequest, comparing upstream: AppUpstream?) throws(Rejection) -> Rejection? {
        do throws(Rejection) {
            try make(RequestCheck.ofForm, of: request)
            return nil
        } catch {
            guard let upstream, upstream.compares, request.topic.present != nil else { throw error }
            // Whether the sender may send to the app binds always.
            try make([.app], of: request)
            return error
        }
    }

    /// Checks a payload. If the upstream compares its answer, the refusal is kept for that.
    /// - Parameter push: nil for a notification that is delivered here.
    func checkBody(of request: ProviderRequest, for push: UpstreamPush?) throws(Rejection) {
        guard push?.refusal == nil else { return }
        do throws(Rejection) {
            try make(RequestCheck.ofPayload, of: request)
        } catch {
            guard let push, push.upstream.compares else { throw error }
            push.refusal = error
        }
    }
}

extension ProviderRequest.Path {
    /// The bytes of a device token that this service cannot read.
    func writtenToken() throws(Rejection) -> [UInt8] {
        switch self {
        case .deviceToken(let token): return token.array
        case .otherDeviceToken(let token): return token
        case .badDeviceToken(let detail): throw Rejection(.badDeviceToken, detail: detail)
        case .bad, .withoutDeviceToken, .broadcast, .handles: throw Rejection(.missingDeviceToken)
        }
    }
}
