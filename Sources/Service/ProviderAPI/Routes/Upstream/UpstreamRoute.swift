import Delivery
import HTTP2
import Notifications
import Trust

/// Forwards notifications to upstreams (docs/gateway.md). All that one read completes go together.
enum UpstreamRoute {
    /// Keeps the client's provider token, if the upstream gets it.
    static func passAuthorization(of request: ProviderRequest, to push: UpstreamPush, _ memory: ProviderMemory) {
        guard push.upstream.credentials == .passthrough, case .token(let token) = request.sender,
            token.grant == nil
        else { return }
        push.authorization = PassedAuthorization(
            team: token.team, key: token.key, value: memory.lastAuthorization)
    }

    /// Judges a request whose body has ended, and forwards it.
    static func ended(
        _ request: ProviderRequest,
        _ push: UpstreamPush,
        on stream: StreamID,
        of connection: ProviderConnection,
    ) {
        do throws(Rejection) {
            try check(request, push, of: connection)
            try connection.rules.checkBody(of: request, for: push)
        } catch {
            return connection.reject(stream, error)
        }
        send(request, push, on: stream, of: connection)
    }

    /// Checks what may have changed since the request's headers, and what the upstream needs.
    static func check(
        _ request: ProviderRequest,
        _ push: UpstreamPush,
        of connection: ProviderConnection,
    ) throws(Rejection) {
        guard let forwarding = connection.api.forwarding else {
            throw Rejection(.serviceUnavailable, detail: "This service does not forward notifications.")
        }
        try connection.checkAgain(request, to: push.app.id, deletion: .deleted(push.topic))
        guard
            connection.memory.version(connection.api) == push.topic.accountsVersion
                || connection.memory.current(connection.api).upstreams[push.upstream.place] == push.upstream
        else {
            throw Rejection(.serviceUnavailable, detail: "The app's upstream was changed; send the request again.")
        }
        guard push.grant == nil || push.upstream.acceptsGrants else {
            throw Rejection(
                .serviceUnavailable,
                detail: "The gateway's upstream for this app takes no notifications of grants at present.")
        }
        if push.upstream.credentials == .passthrough, push.authorization == nil {
            throw Rejection(
                .missingProviderToken,
                detail: "The app's upstream gets the client's provider token, and the request has none.")
        }
        switch forwarding.name.passed(request.via) {
        case .this:
            throw Rejection(
                .serviceUnavailable, detail: "The upstreams of the gateways form a loop: this request was here before.")
        case .others(let count) where count >= ForwardingLimits.hops:
            throw Rejection(
                .serviceUnavailable,
                detail: "The request has passed \(count) gateways, and at most \(ForwardingLimits.hops) are allowed.")
        case .others: break
        }
    }

    /// Adds a request that was judged to those that are forwarded with this batch.
    static func send(
        _ request: ProviderRequest,
        _ push: UpstreamPush,
        on stream: StreamID,
        of connection: ProviderConnection,
    ) {
        let times = connection.times(request, nil, push.refusal)
        guard times > 0, let forwarding = connection.api.forwarding else { return }
        request.isHandled = true
        if push.upstream.captures { return capture(request, push, on: stream, of: connection) }
        let pushed = push.makePush(
            of: request, id: request.identify(using: &connection.identifiers), by: forwarding.name)
        request.body = []
        if push.upstream.hold > 0 { push.copy = pushed }
        push.isHandedOver = true
        if connection.pushes.last?.upstream !== push.upstream { connection.pushes.append((push.upstream, [])) }
        let ticketed: TicketedPush = (stream.ticket, pushed)
        connection.pushes[connection.pushes.count - 1].pushes.append(
            contentsOf: repeatElement(ticketed, count: times))
    }

    /// What the delivery log needs of a request that ends before the upstream has answered; nil if it needs nothing.
    static func subject(
        ofUnanswered request: ProviderRequest, of connection: ProviderConnection,
    ) -> NotificationSubject? {
        guard case .upstream(let push) = request.kind, push.isHandedOver, !push.isAnswered else { return nil }
        return request.subject(request.identify(using: &connection.identifiers))
    }

    /// Forwards the notifications of this batch together, so that an upstream gets them in few packets.
    static func submitBatch(of connection: ProviderConnection) {
        guard !connection.pushes.isEmpty, let port = connection.api.forwarding?.port else { return }
        let taken = connection.pushes
        connection.pushes = []
        for (upstream, pushes) in taken { port.forward(pushes, to: upstream, answers: connection) }
    }
}
