import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications
import Storage
import Synchronization
import Trust

/// Called from other threads. They share only ``lateForwarding``, behind its lock.
extension ProviderConnection: ForwardingAnswers {
    func add(_ answer: ForwardingAnswer, to ticket: UInt64) -> Bool {
        lateForwarding.withLock { late in
            defer { late.append((ticket, answer)) }
            return late.isEmpty
        }
    }

    func answersArrived() {
        eventLoop.execute {
            let answers = self.lateForwarding.withLock { late in
                defer { late = [] }
                return late
            }
            for (ticket, answer) in answers { UpstreamRoute.answered(StreamID(ticket: ticket), answer, of: self) }
            self.memory.endBatch()
        }
    }
}

extension UpstreamRoute {
    /// Answers a request as the upstream has, or keeps its notification if the upstream has not answered.
    fileprivate static func answered(_ stream: StreamID, _ answer: ForwardingAnswer, of connection: ProviderConnection)
    {
        guard let request = connection.requests[stream] else {
            // The client has cancelled the request meanwhile. The upstream may have delivered the notification.
            if let subject = connection.cancelled.removeValue(forKey: stream) {
                record(answer, of: subject, to: connection.api)
            }
            return
        }
        // Otherwise this is the answer to a copy.
        guard case .upstream(let push) = request.kind, !push.isAnswered else { return }
        push.isAnswered = true
        if case .failed = answer, let refusal = endOfGrant(request, push, of: connection) {
            record(answer.steps(refusal: refusal.reason), request, of: connection)
            return connection.refuse(request, on: stream, refusal)
        }
        switch answer {
        case .answered(let told) where push.grant != nil && told.refusesGateway:
            record(answer.steps(refusal: nil), request, of: connection)
            refusedGateway(told, request, push, on: stream, of: connection)
        case .answered(let told):
            let own = ComparedAnswer.difference(own: push, told)
            record(answer.steps(own: own, refusal: nil), request, of: connection)
            respond(told, to: request, push, own: own, on: stream, of: connection)
        case .failed(let cause, _):
            record(answer.steps(refusal: nil), request, of: connection)
            let unavailable = Rejection(.serviceUnavailable, detail: "The upstream has not answered: \(cause)")
            keepOrRefuse(request, push, unavailable, on: stream, of: connection)
        }
    }

    private static func record(
        _ steps: [DeliveryStep], _ request: ProviderRequest, of connection: ProviderConnection
    ) {
        for step in steps { connection.record(step, request) }
    }

    /// Records what became of a request that its client has cancelled. It is not held, because nobody was told so.
    private static func record(_ answer: ForwardingAnswer, of subject: NotificationSubject, to api: ProviderAPI) {
        guard answer.mayHaveReachedUpstream else { return }
        for step in answer.steps(refusal: .serviceUnavailable) {
            api.deliveryLog.record(DeliveryEvent(time: api.clock.time, step: step, subject: subject))
        }
    }

    /// Answers a grant whose notification the upstream refuses because of the gateway's own key or certificate. A 403 would
    /// tell the grant that its own key is not valid, and most clients stop then.
    private static func refusedGateway(
        _ told: UpstreamAnswer,
        _ request: ProviderRequest,
        _ push: UpstreamPush,
        on stream: StreamID,
        of connection: ProviderConnection,
    ) {
        let unavailable = Rejection(
            .serviceUnavailable,
            detail:
                "The upstream refuses the gateway's own key or certificate (\(told.reason ?? "")). The gateway's operator "
                + "has to replace it; send again later.")
        keepOrRefuse(request, push, unavailable, on: stream, of: connection)
    }

    /// Keeps a notification, if the upstream has `hold`, or refuses the request.
    private static func keepOrRefuse(
        _ request: ProviderRequest,
        _ push: UpstreamPush,
        _ unavailable: Rejection,
        on stream: StreamID,
        of connection: ProviderConnection,
    ) {
        if let pushed = push.copy {
            return hold(pushed, of: request, push, otherwise: unavailable, on: stream, of: connection)
        }
        connection.record(.rejected(.serviceUnavailable), request)
        connection.refuse(request, on: stream, unavailable)
    }

    /// The refusal of a request that waited for the upstream while its grant was suspended or revoked; nil otherwise.
    private static func endOfGrant(
        _ request: ProviderRequest,
        _ push: UpstreamPush,
        of connection: ProviderConnection,
    ) -> Rejection? {
        guard push.grant != nil else { return nil }
        do throws(Rejection) {
            try connection.checkAgain(request, to: push.app.id, deletion: .deleted(push.topic))
            return nil
        } catch {
            return error
        }
    }

    /// Gives the client the upstream's answer.
    private static func respond(
        _ told: UpstreamAnswer,
        to request: ProviderRequest,
        _ push: UpstreamPush,
        own: String?,
        on stream: StreamID,
        of connection: ProviderConnection,
    ) {
        if let scene = request.scene {
            var answer = RequestAnswer(status: told.status, reason: told.reason)
            answer.own = own
            let mayAnswer = scene.mayAnswer(answer) {
                respond(told, to: request, push, own: own, on: stream, of: connection)
            }
            guard mayAnswer else { return }
        }
        GrantRoute.answered(request, push, told, of: connection)
        request.isAnswered = true
        let id = request.identify(using: &connection.identifiers)
        let (headers, body) = connection.response.upstreamAnswer(told, id, isUnique: !request.omitsUniqueID)
        connection.session?.respond(stream, headers, body: request.isHead ? nil : body)
    }

    /// Keeps a notification that could not be forwarded. The client gets 200 when it is on disk.
    /// - Parameter unavailable: the answer if it cannot be kept.
    private static func hold(
        _ pushed: ForwardedPush,
        of request: ProviderRequest,
        _ push: UpstreamPush,
        otherwise unavailable: Rejection,
        on stream: StreamID,
        of connection: ProviderConnection,
    ) {
        guard let forwarding = connection.api.forwarding else { return }
        guard let expires = heldUntil(request.expiration.present ?? .unspecified, push.upstream, connection.api) else {
            connection.record(.rejected(.serviceUnavailable), request)
            return connection.refuse(request, on: stream, unavailable)
        }
        let held = HeldPush(pushed, of: push.upstream.place, handle: request.handle, expires: expires)
        let connection = NIOLoopBound(connection, eventLoop: connection.eventLoop)
        Task {
            let isHeld: Bool
            do throws(StoreError) {
                try await forwarding.held.hold(held)
                isHeld = true
            } catch {
                isHeld = false
            }
            connection.eventLoop.execute {
                let connection = connection.value
                guard let request = connection.requests[stream] else { return }
                connection.record(isHeld ? .held : .rejected(.serviceUnavailable), request)
                if isHeld {
                    connection.accept(request, on: stream)
                } else {
                    connection.refuse(request, on: stream, unavailable)
                }
            }
        }
    }

    /// Until when a notification is kept; nil if it must not be.
    private static func heldUntil(_ expiration: Expiration, _ upstream: AppUpstream, _ api: ProviderAPI) -> Timestamp? {
        let (now, limit) = (api.clock.time, upstream.hold)
        let latest = now.advanced(by: .milliseconds(Int64(clamping: limit)))
        switch expiration {
        case .immediately: return nil
        case .unspecified: return latest
        case .at(let seconds):
            let end = api.clock.serviceTime(ofClient: Timestamp(seconds: seconds))
            return end > now ? min(end, latest) : nil
        }
    }
}
