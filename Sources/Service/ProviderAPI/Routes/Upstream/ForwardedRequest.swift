package import Delivery
import Notifications

/// The values that only a request has that goes to an upstream.
final class ForwardedRequest {
    let upstream: AppUpstream
    let topic: AddressedTopic
    let app: App
    /// The bytes in the path's place for a device token.
    let token: [UInt8]
    /// The client's provider token, if the upstream gets it as it came.
    var authorization: PassedAuthorization?
    /// Why this service would have refused the request, if the upstream's answer is compared; otherwise nil.
    var refusal: Rejection?
    /// What was forwarded, until it is answered, if it may have to be held.
    var push: ForwardedPush?
    /// Whether the answer of one of several copies has come.
    var isAnswered = false

    init(upstream: AppUpstream, topic: AddressedTopic, app: App, token: [UInt8]) {
        self.upstream = upstream
        self.topic = topic
        self.app = app
        self.token = token
    }

    /// Makes what is forwarded.
    /// - Parameters:
    ///   - token: the upstream's device token.
    ///   - share: who the request is from.
    func push(
        _ request: ProviderRequest,
        id: NotificationID,
        token: [UInt8],
        share: ForwardingShare,
        _ name: GatewayName,
    ) -> ForwardedPush {
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

    /// The largest body that is read of a request whose upstream's answer is compared, in bytes. It is larger than any
    /// payload may be, so that the upstream refuses it.
    static let maximumComparedBytes = 16_384
}

/// What a gateway needs to forward. A class, because every forwarded request uses it.
package final class GatewayForwarding: Sendable {
    package let port: any Forwarding
    /// The name with which the gateway appears in `via`. All nodes of a service have the same one.
    package let name: GatewayName
    /// Keeps what cannot be forwarded.
    package let held: any HeldPushes
    /// Keeps what is not forwarded but released by a person; nil outside the development environment.
    package let captures: (any CapturedPushes)?

    package init(
        port: any Forwarding,
        name: GatewayName,
        held: any HeldPushes,
        captures: (any CapturedPushes)?,
    ) {
        self.port = port
        self.name = name
        self.held = held
        self.captures = captures
    }
}
