import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications

// Requests for the management of channels as observers see them, and the faults that rehearsals cause.
extension ChannelConnection {
    /// Reports the decision about a request to the observer.
    /// - Parameter rejection: nil if the request is handed over.
    /// - Returns: What to do with the request; nil if nobody observes it, or if it was reported before.
    func decision(_ index: Int, _ rejection: Rejection?) -> RequestDecision? {
        guard let watched = requests[index].watched, watched.number == nil, let observation = provider.observation
        else {
            return nil
        }
        let request = requests[index]
        let accounts = memory.current(provider)
        let bundleID = try? request.action().bundleID
        let trusted = ProviderRequest(began: request.began)
        trusted.sender = request.sender
        let (team, sender) = trusted.sender(in: accounts)
        var facts = RequestFacts(
            time: provider.clock.time,
            connection: number,
            environment: provider.environment,
            interface: .channels,
            team: team ?? bundleID.flatMap { accounts.apps[$0]?.team },
            sender: sender,
            headers: watched.headers,
            topic: bundleID?.topic(.liveActivity),
            apnsID: requests[index].identify(using: &random),
            body: request.body,
            status: rejection?.reason.status ?? 200,
            reason: rejection?.reason.rawValue,
        )
        if request.isBodyTooLarge {
            // The session counts the bytes, and does not pass on the part with which the body exceeds the limit.
            facts.bodyBytes = watched.bodyBytes(kept: request.body.count, received: api.limits.bodyBytes + 1)
        }
        facts.serverName = serverName
        facts.channel = request.channel.present?.rawValue ?? watched.value(.channelID)
        if !request.sender.isVerified { facts.unknown.insert(.sender) }
        let decision = observation.observer.decided(facts)
        watched.number = decision.number
        return decision
    }

    /// Reports an answer that was written.
    /// - Parameter channel: the channel that was created.
    func answered(_ index: Int, on stream: StreamID, _ answer: RequestAnswer, channel: ChannelID? = nil) {
        if let number = requests[index].watched?.number, let observer = provider.observation?.observer {
            if let channel { observer.created(number, channel: channel) }
            observer.answered(number, answer)
        }
        countAnswer(of: stream)
    }
}

// Faults. They begin when the provider API has decided about a request.
extension ChannelConnection {
    /// Carries out a fault on a request that passed the checks.
    func carryOut(_ fault: RequestFault, on stream: StreamID, _ work: @escaping Work) {
        beginRehearsal()
        if fault.actsBeforeAcceptance { return misbehave(fault, on: stream) }
        if !plan(fault, on: stream) { rehearsed?.set(fault, on: stream) }
        run(work, on: stream)
    }

    /// Carries out a fault on a request that is rejected.
    func carryOut(_ fault: RequestFault, on stream: StreamID, _ rejection: Rejection) {
        beginRehearsal()
        if let index = requests.index(of: stream) { requests[index].isUnderWay = true }
        switch fault.kind {
        case .delay(let delay): later(stream, delay) { $0.refuse(stream, rejection) }
        case .answer, .reset, .close, .hang: misbehave(fault, on: stream)
        case .goAway, .settings, .lose, .duplicate, .omit, .errorPacket:
            _ = plan(fault, on: stream)
            refuse(stream, rejection)
        }
    }

    /// Returns whether a rehearsal handles the answer.
    func isRehearsed(_ stream: StreamID, _ result: Result<Answer, Rejection>) -> Bool {
        guard let fault = rehearsed?.removeFault(of: stream) else { return false }
        if case .delay(let delay) = fault.kind {
            later(stream, delay) { $0.respondNow(stream, result) }
        } else {
            misbehave(fault, on: stream)
        }
        return true
    }

    /// Plans a GOAWAY.
    /// - Returns: Whether the fault is one.
    private func plan(_ fault: RequestFault, on stream: StreamID) -> Bool {
        guard case .goAway(let reason, let left) = fault.kind else { return false }
        rehearsed?.plan(reason, after: left, causedBy: stream)
        return true
    }

    private func misbehave(_ fault: RequestFault, on stream: StreamID) {
        if let index = requests.index(of: stream) { requests[index].isUnderWay = true }
        spoilAnswer(fault, on: stream)
    }

    func number(of stream: StreamID) -> UInt64? {
        requests.index(of: stream).flatMap { requests[$0].watched?.number }
    }
}
