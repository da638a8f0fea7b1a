import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications
import Storage
import Synchronization
import Trust

// Requests that go to an upstream (docs/gateway.md).
extension ProviderConnection {
    /// Keeps the client's provider token, if the upstream gets it.
    func passAuthorization(of request: ProviderRequest, to forwarded: ForwardedRequest) {
        guard forwarded.upstream.credentials == .passthrough, case .token(let token) = request.sender,
            token.grant == nil
        else { return }
        forwarded.authorization = PassedAuthorization(
            team: token.team, key: token.key, value: memory.lastAuthorization)
    }

    func forwardedReceived(
        _ bytes: Span<UInt8>,
        _ request: ProviderRequest,
        _ forwarded: ForwardedRequest,
        _ stream: StreamID,
    ) {
        do throws(Rejection) {
            try checkSize(request, forwarded, limit: forwarded.topic.payloadLimit)
        } catch {
            request.keepBeginning(bytes, limit: forwarded.topic.payloadLimit)
            return reject(stream, error)
        }
        request.body.append(bytes)
    }

    /// Checks how much of a payload has arrived. If the upstream compares its answer, the refusal is kept for that, and
    /// more may arrive.
    /// - Parameters:
    ///   - forwarded: nil for a notification that is delivered here.
    ///   - limit: the largest payload of the topic, in bytes.
    func checkSize(_ request: ProviderRequest, _ forwarded: ForwardedRequest?, limit: Int) throws(Rejection) {
        guard request.received > limit else { return }
        let rejection = Rejection(.payloadTooLarge, detail: "The payload is longer than \(limit) bytes.")
        guard let forwarded, forwarded.upstream.compares, request.received <= ForwardedRequest.maximumComparedBytes
        else { throw rejection }
        forwarded.refusal = forwarded.refusal ?? rejection
    }

    /// Checks a payload. If the upstream compares its answer, the refusal is kept for that.
    /// - Parameter forwarded: nil for a notification that is delivered here.
    func checkPayload(
        _ request: ProviderRequest,
        _ forwarded: ForwardedRequest?,
    ) throws(Rejection) {
        guard forwarded?.refusal == nil else { return }
        do throws(Rejection) {
            try rules.checkBody(of: request)
        } catch {
            guard let forwarded, forwarded.upstream.compares else { throw error }
            forwarded.refusal = error
        }
    }

    /// Judges a request whose body has ended, and forwards it.
    func forwardEnded(_ stream: StreamID, _ request: ProviderRequest, _ forwarded: ForwardedRequest) {
        do throws(Rejection) {
            try checkForwarding(request, forwarded)
            try checkPayload(request, forwarded)
        } catch {
            return reject(stream, error)
        }
        if forwarded.upstream.captures, request.watched == nil {
            // A captured request needs a number, also while nobody observes.
            request.watched = WatchedRequest([])
        }
        sendForward(
            stream, request, forwarded, token: forwarded.token, share: ForwardingShare(forwarded.app.team))
    }

    /// Forwards a request that was judged, unless a rehearsal has something else in mind.
    /// - Parameters:
    ///   - token: the upstream's device token.
    ///   - share: who the request is from.
    func sendForward(
        _ stream: StreamID,
        _ request: ProviderRequest,
        _ forwarded: ForwardedRequest,
        token: [UInt8],
        share: ForwardingShare,
    ) {
        var copies = 1
        switch decision(request, nil, forwarded.refusal) {
        case .proceed?, nil: break
        case .misbehave(_, let fault)?:
            copies = prepare(fault, on: stream)
            guard copies > 0 else { return }
        }
        request.isHandled = true
        if forwarded.upstream.captures { return capture(stream, request, forwarded) }
        forward(stream, request, forwarded, token: token, share: share, copies: copies)
        request.body = []
    }

    func checkForwarding(_ request: ProviderRequest, _ forwarded: ForwardedRequest) throws(Rejection) {
        guard let forwarding = api.forwarding else {
            throw Rejection(.serviceUnavailable, detail: "This service does not forward notifications.")
        }
        try memory.checkAgain(
            request, to: forwarded.app.id, api: api,
            deletion: Rejection(
                .topicDisallowed, detail: "The app with the topic \(forwarded.topic.name) was deleted."))
        guard
            memory.version(api) == forwarded.topic.accountsVersion
                || memory.current(api).upstreams[forwarded.upstream.place] == forwarded.upstream
        else {
            throw Rejection(.serviceUnavailable, detail: "The app's upstream was changed; send the request again.")
        }
        if forwarded.upstream.credentials == .passthrough, forwarded.authorization == nil {
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
    /// - Parameters:
    ///   - token: the upstream's device token.
    ///   - share: who the request is from.
    ///   - copies: how many times it is forwarded, for rehearsals. The first answer is used.
    func forward(
        _ stream: StreamID,
        _ request: ProviderRequest,
        _ forwarded: ForwardedRequest,
        token: [UInt8],
        share: ForwardingShare,
        copies: Int = 1,
    ) {
        guard let forwarding = api.forwarding else { return }
        let id = request.identify(using: &random)
        let push = forwarded.push(request, id: id, token: token, share: share, forwarding.name)
        if forwarded.upstream.hold > 0 { forwarded.push = push }
        recordForwarded(.forwarded, request)
        if forwards.last?.upstream !== forwarded.upstream { forwards.append((forwarded.upstream, [])) }
        let ticketed: TicketedPush = (stream.ticket, push)
        forwards[forwards.count - 1].pushes.append(contentsOf: repeatElement(ticketed, count: copies))
    }

    /// Forwards the notifications of this batch together, so that an upstream gets them in few packets.
    func submitForwards() {
        guard !forwards.isEmpty, let port = api.forwarding?.port else { return }
        let taken = forwards
        forwards = []
        for (upstream, pushes) in taken { port.forward(pushes, to: upstream, answers: self) }
    }

    // MARK: Answers

    private func answerForwardedRequests() {
        let answers = lateForwarding.withLock { late in
            defer { late = [] }
            return late
        }
        for (ticket, answer) in answers { answerForwardedRequest(StreamID(ticket: ticket), answer) }
        memory.endBatch()
    }

    private func answerForwardedRequest(_ stream: StreamID, _ answer: ForwardingAnswer) {
        // The client may have cancelled the request meanwhile, or this is the answer to a copy.
        guard let request = requests[stream], let forwarded = request.forwarded, !forwarded.isAnswered else { return }
        forwarded.isAnswered = true
        if case .failed = answer, let refusal = endOfGrant(request, forwarded) {
            recordForwarded(.rejected(refusal.reason), request)
            return refuse(stream, refusal)
        }
        recordAnswer(answer, request, forwarded)
        if rehearsed != nil, let fault = rehearsed?.removeFault(of: stream) {
            if case .delay(let delay) = fault.kind {
                return later(stream, delay) { $0.answerForwarded(stream, answer) }
            }
            return misbehave(fault, on: stream)
        }
        answerForwarded(stream, answer)
    }

    /// The refusal of a request that waited for the upstream while its grant was suspended or revoked; nil otherwise.
    private func endOfGrant(_ request: ProviderRequest, _ forwarded: ForwardedRequest) -> Rejection? {
        guard request.granted != nil else { return nil }
        do throws(Rejection) {
            try memory.checkAgain(
                request, to: forwarded.app.id, api: api,
                deletion: Rejection(
                    .topicDisallowed, detail: "The app with the topic \(forwarded.topic.name) was deleted."))
            return nil
        } catch {
            return error
        }
    }

    private func recordAnswer(_ answer: ForwardingAnswer, _ request: ProviderRequest, _ forwarded: ForwardedRequest) {
        switch answer {
        case .failed: if forwarded.push == nil { recordForwarded(.rejected(.serviceUnavailable), request) }
        case .answered(let answer):
            let own = ComparedAnswer.difference(own: forwarded, answer)
            recordForwarded(
                .answered(status: UInt16(clamping: answer.status), reason: answer.reason, own: own), request)
            if let own, let number = request.watched?.number {
                api.observation?.observer.compared(number, own: own)
            }
        }
    }

    private func answerForwarded(_ stream: StreamID, _ answer: ForwardingAnswer) {
        guard let request = requests[stream] else { return }
        switch answer {
        case .answered(let told):
            grantAnswered(request, status: told.status, reason: told.reason, timestamp: told.timestamp)
            request.isAnswered = true
            let id = request.identify(using: &random)
            let (headers, body) = response.forwarded(told, id)
            let watched = request.watched
            session?.respond(stream, headers, body: request.isHead ? nil : body)
            if let watched { answered(watched, RequestAnswer(status: told.status, reason: told.reason)) }
            if rehearsed != nil { countAnswer(of: stream) }
        case .failed(let cause, let mayHaveBeenTaken):
            let more = mayHaveBeenTaken ? " It may have accepted the notification." : ""
            let detail = "The upstream has not answered: \(cause)\(more)"
            if let forwarded = request.forwarded, let push = forwarded.push {
                return hold(stream, push, of: forwarded.upstream, otherwise: detail)
            }
            refuse(stream, Rejection(.serviceUnavailable, detail: detail))
        }
    }

    private func recordForwarded(_ step: DeliveryStep, _ request: ProviderRequest) {
        let id = request.identify(using: &random)
        api.deliveryLog.record(
            DeliveryEvent(time: api.clock.time, step: step, subject: request.subject(id)))
    }
}

/// Called from other threads. They share only ``lateForwarding``, behind its lock.
extension ProviderConnection: ForwardingAnswers {
    func add(_ answer: ForwardingAnswer, to ticket: UInt64) -> Bool {
        lateForwarding.withLock { late in
            defer { late.append((ticket, answer)) }
            return late.isEmpty
        }
    }

    func answersArrived() {
        eventLoop.execute { self.answerForwardedRequests() }
    }
}

// MARK: - Kept here

extension ProviderConnection {
    /// Keeps a notification that could not be forwarded. The client gets 200 when it is on disk.
    /// - Parameter detail: the detail of the rejection, if it cannot be kept.
    private func hold(
        _ stream: StreamID,
        _ push: ForwardedPush,
        of upstream: AppUpstream,
        otherwise detail: String,
    ) {
        guard let request = requests[stream], let forwarding = api.forwarding else { return }
        let unavailable = Rejection(.serviceUnavailable, detail: detail)
        guard let expires = heldUntil(request.expiration.present ?? .unspecified, upstream) else {
            recordForwarded(.rejected(.serviceUnavailable), request)
            return refuse(stream, unavailable)
        }
        let held = HeldPush(
            push, of: upstream.place, handle: request.granted?.address?.handle, expires: expires)
        let connection = NIOLoopBound(self, eventLoop: eventLoop)
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
                connection.recordForwarded(isHeld ? .held : .rejected(.serviceUnavailable), request)
                isHeld ? connection.answerNow(stream, .accepted) : connection.refuse(stream, unavailable)
            }
        }
    }

    /// Until when a notification is kept; nil if it must not be.
    private func heldUntil(_ expiration: Expiration, _ upstream: AppUpstream) -> Timestamp? {
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

    /// Keeps a notification until a person releases it. The client gets 200 and the header `carillon-captured`.
    private func capture(_ stream: StreamID, _ request: ProviderRequest, _ forwarded: ForwardedRequest) {
        guard let forwarding = api.forwarding, let captures = forwarding.captures,
            let number = request.watched?.number
        else {
            return refuse(
                stream,
                Rejection(.serviceUnavailable, detail: "Requests are captured in the development environment only."))
        }
        let id = request.identify(using: &random)
        let push = forwarded.push(
            request, id: id, token: forwarded.token, share: ForwardingShare(forwarded.app.team), forwarding.name)
        request.body = []
        let (connection, place) = (NIOLoopBound(self, eventLoop: eventLoop), forwarded.upstream.place)
        Task {
            let isKept: Bool
            do throws(StoreError) {
                try await captures.keep(push, of: place, number: number)
                isKept = true
            } catch {
                isKept = false
            }
            connection.eventLoop.execute { connection.value.captured(stream, number, isKept: isKept) }
        }
    }

    private func captured(_ stream: StreamID, _ number: UInt64, isKept: Bool) {
        guard let request = requests[stream] else { return }
        guard isKept else {
            recordForwarded(.rejected(.serviceUnavailable), request)
            return refuse(
                stream, Rejection(.serviceUnavailable, detail: "The request cannot be captured: no disk space."))
        }
        api.observation?.observer.captured(number)
        request.isAnswered = true
        let id = request.identify(using: &random)
        session?.respond(stream, response.captured(id), body: nil)
        if let watched = request.watched { answered(watched, RequestAnswer(status: 200)) }
        if rehearsed != nil { countAnswer(of: stream) }
    }
}
