import Connections
import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications
import Synchronization

// Answers requests. `Delivery` calls from this event loop or from other threads.
extension ProviderConnection {
    /// Asks the scene of a request what to do, now that the API has decided about it.
    /// - Parameters:
    ///   - submission: that of an accepted notification to a device.
    ///   - rejection: why the request is refused; nil if it is not.
    /// - Returns: how often to carry the decision out. If it is 0, the request is no longer the connection's business.
    func times(_ request: ProviderRequest, _ submission: Submission? = nil, _ rejection: Rejection? = nil) -> Int {
        guard let scene = request.scene else { return 1 }
        let id = request.identify(using: &identifiers)
        let performance = scene.performance(
            of: request.facts(submission, rejection, id: id, at: api.clock.time, by: rules, memory.current(api)))
        request.omitsUniqueID = performance.omits == .uniqueID
        if performance.times == 0 { (request.isHandled, request.body) = (true, []) }
        return performance.times
    }

    /// Records what becomes of a request that `Delivery` does not see.
    func record(_ step: DeliveryStep, _ request: ProviderRequest) {
        let subject = request.subject(request.identify(using: &identifiers))
        api.deliveryLog.record(DeliveryEvent(time: api.clock.time, step: step, subject: subject))
    }

    func reject(_ stream: StreamID, _ rejection: Rejection) { reject(stream, rejection, retryAfter: nil) }

    /// Rejects a request that was not passed on.
    /// - Parameter retryAfter: the value of `retry-after` in seconds; nil for an answer without that header.
    func reject(_ stream: StreamID, _ rejection: Rejection, retryAfter: Int?) {
        guard let request = requests[stream] else { return }
        if case .handles = request.path { return HandleRoute.refuse(request, on: stream, rejection, of: self) }
        guard times(request, nil, rejection) > 0 else { return }
        record(.rejected(rejection.reason), request)
        refuse(request, on: stream, rejection, retryAfter: retryAfter)
    }

    /// Answers a request with a rejection.
    /// - Parameter retryAfter: the value of `retry-after` in seconds; nil for an answer without that header.
    func refuse(_ request: ProviderRequest, on stream: StreamID, _ rejection: Rejection, retryAfter: Int? = nil) {
        (request.isHandled, request.body) = (true, [])
        if let scene = request.scene {
            let mayAnswer = scene.mayAnswer(RequestAnswer(rejection)) { [self] in
                refuse(request, on: stream, rejection, retryAfter: retryAfter)
            }
            guard mayAnswer else { return }
        }
        markAnswered(request)
        let (headers, body) = response.rejected(
            rejection, request.identify(using: &identifiers), isBroadcast: request.isBroadcast, retryAfter: retryAfter,
            hasDetail: request.grantID != nil && api.tellsGrants)
        GrantRoute.count(rejection.reason.rawValue, of: request, api.grants)
        session?.respond(stream, headers, body: request.isHead ? nil : body)
    }

    /// Marks a request as answered, perhaps before it has ended.
    func markAnswered(_ request: ProviderRequest) {
        (request.isHandled, request.isAnswered, request.body) = (true, true, [])
        if !request.hasEnded { request.cutShort = second }
    }

    /// Answers a request with 200.
    /// - Parameter outcome: that of a broadcast; nil if the delivery log has it.
    func accept(_ request: ProviderRequest, on stream: StreamID, as outcome: RequestOutcome? = nil) {
        if let scene = request.scene {
            var answer = RequestAnswer(status: 200)
            answer.outcome = outcome
            guard scene.mayAnswer(answer, later: { [self] in accept(request, on: stream) }) else { return }
        }
        request.isAnswered = true
        GrantRoute.count("200", of: request, api.grants)
        let id = request.identify(using: &identifiers)
        let headers =
            request.isBroadcast
            ? response.ofChannels(200, id, isUnique: !request.omitsUniqueID)
            : response.accepted(id, isUnique: !request.omitsUniqueID)
        session?.respond(stream, headers, body: nil)
    }

    /// Answers a request as `Delivery` has decided.
    func answer(_ request: ProviderRequest, on stream: StreamID, _ outcome: Outcome) {
        switch outcome {
        case .accepted: accept(request, on: stream)
        case .rejected(let rejection):
            if rejection.reason == .tooManyRequests, !request.isBroadcast {
                api.limitLog.limitExceeded(.tokenRate, peer: peer)
            }
            refuse(request, on: stream, api.inClientTime(rejection))
            // The fault is the service's own. Another connection may reach a service without the fault.
            if rejection.reason == .internalServerError { goAway(.internalServerError) }
        }
    }

    private func answer(_ stream: StreamID, _ outcome: Outcome) {
        // The client may have cancelled the request meanwhile.
        if let request = requests[stream] { answer(request, on: stream, outcome) }
    }

    private func answerLate() {
        let answers = late.withLock { late in
            defer { late = [] }
            return late
        }
        for (ticket, outcome) in answers { answer(StreamID(ticket: ticket), outcome) }
    }

    func answer(_ ticket: UInt64, with rejection: Rejection?, retryAfter: Int?) {
        let stream = StreamID(ticket: ticket)
        guard let request = requests[stream] else { return }
        if var rejection {
            // A 410 always has a timestamp (Guide, Table 8-5).
            if rejection.reason.status == 410, rejection.timestamp == nil {
                rejection.timestamp = api.clock.machineTime.milliseconds
            }
            refuse(request, on: stream, rejection, retryAfter: retryAfter)
        } else {
            accept(request, on: stream)
        }
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
