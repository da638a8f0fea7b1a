import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications

// What a rehearsal has a connection do. It starts where the gateway has decided about a request.
extension ProviderConnection {
    /// Does with a good request what a rehearsal says.
    func carryOut(_ fault: RequestFault, on stream: StreamID, _ submission: Submission) {
        begin()
        if fault.actsBeforeAcceptance { return misbehave(fault, on: stream) }
        switch fault.kind {
        case .goAway, .settings:
            change(by: fault.kind)
            batch.append(submission)
        case .duplicate(let count):
            // The copies have one ticket: the first answer counts.
            batch.append(contentsOf: repeatElement(submission, count: count))
        case .answer, .reset, .close, .hang, .delay, .lose, .errorPacket:
            rehearsed?.set(fault, on: stream)
            batch.append(submission)
        }
    }

    /// Does with a request that is rejected what a rehearsal says.
    func carryOut(_ fault: RequestFault, on stream: StreamID, _ rejection: Rejection) {
        begin()
        switch fault.kind {
        case .goAway, .settings:
            change(by: fault.kind)
            refuse(stream, rejection)
        case .delay(let delay):
            settle(stream)
            later(stream, delay) { $0.refuse(stream, rejection) }
        case .duplicate, .errorPacket:
            refuse(stream, rejection)
        case .answer, .reset, .close, .hang, .lose:
            misbehave(fault, on: stream)
        }
    }

    /// Whether a rehearsal takes care of an answer that `Delivery` gives.
    func isRehearsed(_ stream: StreamID, _ outcome: Outcome) -> Bool {
        // The client may have given up meanwhile, or this is the answer to a copy.
        guard let index = requests.index(of: stream), !requests[index].isAnswered else { return true }
        guard let fault = rehearsed?.takeFault(of: stream) else { return false }
        if case .delay(let delay) = fault.kind {
            later(stream, delay) { $0.answerNow(stream, outcome) }
        } else {
            misbehave(fault, on: stream)
        }
        return true
    }

    /// A request was answered: a GOAWAY may be due.
    func countAnswer() {
        if let reason = rehearsed?.countAnswer() { sayGoodbye(reason) }
    }

    /// Ends what a rehearsal keeps open.
    /// - Parameter now: ends what has been open for too long; nil for all of it, because the service goes down.
    func endHanging(_ now: NIODeadline?) {
        guard let rehearsed else { return }
        let limit = TimeAmount(RequestFault.longest)
        let streams =
            now.map { now in rehearsed.hanging.filter { $0.value + limit < now }.map(\.key) } ?? rehearsed.held
        for stream in streams { session?.reset(stream, .cancel) }
    }

    private func begin() {
        if rehearsed == nil { rehearsed = RehearsedConnection() }
    }

    private func change(by kind: RequestFault.Kind) {
        switch kind {
        case .goAway(let reason, let left):
            // The request itself has its answer first, and does not count.
            rehearsed?.plan(reason, after: left == 0 ? 0 : left + 1)
            if let reason = rehearsed?.dueGoAway() { sayGoodbye(reason) }
        case .settings(let streams):
            rehearsed?.concurrentStreams = streams
            session?.announce(concurrentStreams: streams)
        default: break
        }
    }

    /// Streams that the client opens from now on are not processed, and it is told so (RFC 9113, 6.8).
    private func sayGoodbye(_ reason: Rejection.Reason) {
        session?.goAway(.noError, debugData: goAwayData(reason))
    }

    private func misbehave(_ fault: RequestFault, on stream: StreamID) {
        settle(stream)
        switch fault.kind {
        case .answer(var rejection, let retryAfter):
            // A 410 always says since when (Guide, Table 8-5).
            if rejection.reason.status == 410, rejection.timestamp == nil {
                rejection.timestamp = gateway.clock.machineTime.milliseconds
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
        case .lose:
            answerNow(stream, .accepted)
        case .goAway, .delay, .duplicate, .settings, .errorPacket:
            break
        }
    }

    /// The request has been decided about, and gives its body away.
    private func settle(_ stream: StreamID) {
        guard let index = requests.index(of: stream) else { return }
        requests[index].isSettled = true
        requests[index].body = []
    }

    /// Tells the observer that no answer comes.
    private func noteSilence(on stream: StreamID, _ fault: RequestFault) {
        guard let index = requests.index(of: stream), let number = requests[index].watched?.number else { return }
        gateway.watch?.observer.unanswered(number, isDiscarded: fault.actsBeforeAcceptance)
    }

    private func later(_ stream: StreamID, _ delay: Duration, _ answer: @escaping (ProviderConnection) -> Void) {
        let connection = NIOLoopBound(self, eventLoop: eventLoop)
        let answer = NIOLoopBound(answer, eventLoop: eventLoop)
        let timer = eventLoop.scheduleTask(in: TimeAmount(delay)) {
            connection.value.rehearsed?.timerFired(on: stream)
            answer.value(connection.value)
            // At once: a request that was answered long after it began may not stay open.
            connection.value.session?.flush()
        }
        rehearsed?.wait(timer, on: stream)
    }
}
