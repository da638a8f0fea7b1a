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
        guard let watched = requests[index].watched, watched.number == nil, let watch = provider.watch else {
            return nil
        }
        let request = requests[index]
        let accounts = memory.current(provider)
        let bundleID = try? request.action().bundleID
        var trusted = ProviderRequest(began: request.began)
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
        facts.channel = request.channel.present?.rawValue ?? watched.value(.channelID)
        let decision = watch.observer.decided(facts)
        watched.number = decision.number
        return decision
    }

    /// Reports an answer that was written.
    /// - Parameter channel: the channel that was created.
    func answered(_ index: Int, on stream: StreamID, _ answer: RequestAnswer, channel: ChannelID? = nil) {
        if let number = requests[index].watched?.number, let observer = provider.watch?.observer {
            if let channel { observer.created(number, channel: channel) }
            observer.answered(number, answer)
        }
        if let reason = rehearsed?.countAnswer(of: stream) { sayGoodbye(reason) }
    }

    /// Forgets a stream that has ended, and sends a GOAWAY if it is now due.
    func forgetFaults(of stream: StreamID) {
        if let reason = rehearsed?.forget(stream) { sayGoodbye(reason) }
    }

    /// Sends GOAWAY.
    ///
    /// What was answered is written first, and frames may not be written while others are read.
    private func sayGoodbye(_ reason: Rejection.Reason) {
        let connection = NIOLoopBound(self, eventLoop: eventLoop)
        eventLoop.execute {
            let session = connection.value.session
            session?.flush()
            session?.goAway(.noError, debugData: connection.value.goAwayData(reason))
        }
    }
}

// Faults. They begin when the gateway has decided about a request.
extension ChannelConnection {
    private func begin() {
        if rehearsed == nil { rehearsed = RehearsedConnection() }
    }

    /// Carries out a fault on a request that passed the checks.
    func carryOut(_ fault: RequestFault, on stream: StreamID, _ work: @escaping Work) {
        begin()
        if fault.actsBeforeAcceptance { return misbehave(fault, on: stream) }
        if !plan(fault, on: stream) { rehearsed?.set(fault, on: stream) }
        run(work, on: stream)
    }

    /// Carries out a fault on a request that is rejected.
    func carryOut(_ fault: RequestFault, on stream: StreamID, _ rejection: Rejection) {
        begin()
        if let index = requests.index(of: stream) { requests[index].isUnderWay = true }
        switch fault.kind {
        case .delay(let delay): later(stream, delay) { $0.refuse(stream, rejection) }
        case .answer, .reset, .close, .hang: misbehave(fault, on: stream)
        case .goAway, .settings, .lose, .duplicate, .errorPacket:
            _ = plan(fault, on: stream)
            refuse(stream, rejection)
        }
    }

    /// Returns whether a rehearsal handles the answer.
    func isRehearsed(_ stream: StreamID, _ result: Result<Answer, Rejection>) -> Bool {
        guard let fault = rehearsed?.takeFault(of: stream) else { return false }
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
        switch fault.kind {
        case .answer(var rejection, let retryAfter):
            // A 410 always has a timestamp (Guide, Table 8-5).
            if rejection.reason.status == 410, rejection.timestamp == nil {
                rejection.timestamp = provider.clock.machineTime.milliseconds
            }
            refuse(stream, rejection, retryAfter: retryAfter)
        case .reset(let code):
            noteSilence(on: stream, fault)
            session?.reset(stream, HTTP2ErrorCode(code))
        case .close(let kind):
            noteSilence(on: stream, fault)
            switch kind {
            case .fin: session?.close()
            case .rst: session?.abort()
            }
        case .hang:
            noteSilence(on: stream, fault)
            rehearsed?.hang(stream, since: second)
        // Rehearsals refuse rules with these for this interface.
        case .goAway, .delay, .lose, .duplicate, .settings, .errorPacket:
            break
        }
    }

    /// Ends requests that a rehearsal keeps open.
    /// - Parameter now: ends those that have been open for too long; nil for all of them, because the service shuts
    ///   down.
    func endHanging(_ now: NIODeadline?) {
        guard let rehearsed else { return }
        let limit = TimeAmount(RequestFault.longest)
        let streams =
            now.map { now in rehearsed.hanging.filter { $0.value + limit < now }.map(\.key) } ?? rehearsed.held
        for stream in streams { session?.reset(stream, .cancel) }
    }

    /// Reports to the observer that no answer comes.
    private func noteSilence(on stream: StreamID, _ fault: RequestFault) {
        guard let index = requests.index(of: stream), let number = requests[index].watched?.number else { return }
        provider.watch?.observer.unanswered(number, isDiscarded: fault.actsBeforeAcceptance)
    }

    private func later(_ stream: StreamID, _ delay: Duration, _ answer: @escaping (ChannelConnection) -> Void) {
        let connection = NIOLoopBound(self, eventLoop: eventLoop)
        let answer = NIOLoopBound(answer, eventLoop: eventLoop)
        let timer = eventLoop.scheduleTask(in: TimeAmount(delay)) {
            connection.value.rehearsed?.timerFired(on: stream)
            answer.value(connection.value)
            connection.value.session?.flush()
        }
        rehearsed?.wait(timer, on: stream)
    }
}
