import Connections
import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications
import Synchronization

// Answers requests. `Delivery` calls from this event loop or from other threads.
extension ProviderConnection {
    /// Rejects a request that was not passed to `Delivery`.
    /// - Parameter retryAfter: the value of `retry-after` in seconds; nil for an answer without that header.
    func reject(_ stream: StreamID, _ rejection: Rejection, retryAfter: Int?) {
        guard let request = requests[stream] else { return }
        if request.asked != nil { return refuseGateway(stream, rejection) }
        let id = request.identify(using: &random)
        if case .misbehave(_, let fault)? = decision(request, nil, rejection) {
            return carryOut(fault, on: stream, rejection)
        }
        let subject = request.subject(id)
        api.deliveryLog.record(
            DeliveryEvent(time: api.clock.time, step: .rejected(rejection.reason), subject: subject))
        refuse(stream, rejection, retryAfter: retryAfter)
    }

    func reject(_ stream: StreamID, _ rejection: Rejection) { reject(stream, rejection, retryAfter: nil) }

    /// - Parameter retryAfter: the value of `retry-after` in seconds; nil for an answer without that header.
    func refuse(_ stream: StreamID, _ rejection: Rejection, retryAfter: Int? = nil) {
        guard let request = requests[stream] else { return }
        request.isHandled = true
        request.isAnswered = true
        if !request.hasEnded { request.cutShort = second }
        request.body = []
        let id = request.identify(using: &random)
        let (headers, body) = response.rejected(
            rejection, id, isBroadcast: request.broadcast != nil, retryAfter: retryAfter,
            hasDetail: request.granted != nil && api.tellsGrants)
        countAnswer(to: request, rejection.reason.rawValue)
        let watched = request.watched
        session?.respond(stream, headers, body: request.isHead ? nil : body)
        if let watched { answered(watched, RequestAnswer(rejection)) }
        if rehearsed != nil { countAnswer(of: stream) }
    }

    func answer(_ stream: StreamID, _ outcome: Outcome) {
        if rehearsed != nil, isRehearsed(stream, outcome) { return }
        answerNow(stream, outcome)
    }

    func answerNow(_ stream: StreamID, _ outcome: Outcome) {
        // The client may have cancelled the request meanwhile.
        guard let request = requests[stream] else { return }
        switch outcome {
        case .accepted:
            let id = request.identify(using: &random)
            request.isAnswered = true
            countAnswer(to: request, "200")
            let watched = request.watched
            let headers =
                request.broadcast == nil
                ? response.accepted(id, isUnique: !request.omitsUniqueID)
                : response.ofChannels(200, id, isUnique: !request.omitsUniqueID)
            session?.respond(stream, headers, body: nil)
            if let watched { answered(watched, RequestAnswer(status: 200)) }
            if rehearsed != nil { countAnswer(of: stream) }
        case .rejected(let rejection):
            if rejection.reason == .tooManyRequests, request.broadcast == nil {
                api.limitLog.limitExceeded(.tokenRate, peer: peer)
            }
            refuse(stream, api.inClientTime(rejection))
            // The fault is the service's own. Another connection may reach a service without the fault.
            if rejection.reason == .internalServerError { goAway(.internalServerError) }
        }
    }

    private func answerLate() {
        let answers = late.withLock { late in
            defer { late = [] }
            return late
        }
        for (ticket, outcome) in answers { answer(StreamID(ticket: ticket), outcome) }
    }
}

/// Called from other threads. `@unchecked` because the compiler cannot see that everything else is confined to the
/// event loop. Threads share only ``late`` and ``lateForwarding``, each behind its lock.
extension ProviderConnection: SubmissionAnswers, @unchecked Sendable {
    func answer(_ ticket: UInt64, with outcome: Outcome) {
        if eventLoop.inEventLoop {
            return answer(StreamID(ticket: ticket), outcome)
        }
        answerLater { $0.append((ticket, outcome)) }
    }

    func answer(_ answers: [SubmissionAnswer]) {
        if eventLoop.inEventLoop {
            for (ticket, outcome) in answers { answer(ticket, with: outcome) }
        } else {
            answerLater { $0.append(contentsOf: answers) }
        }
    }

    /// - Parameter add: adds one or more answers to those that wait for the event loop.
    private func answerLater(_ add: (inout [SubmissionAnswer]) -> Void) {
        let isFirst = late.withLock { late in
            defer { add(&late) }
            return late.isEmpty
        }
        if isFirst { eventLoop.execute { self.answerLate() } }
    }
}
