import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications

// The faults that a rehearsal causes on a connection. They happen after the gateway has decided about a request.
extension ProviderConnection {
    /// Carries out a fault on a request that was accepted.
    func carryOut(_ fault: RequestFault, on stream: StreamID, _ submission: Submission) {
        begin()
        if fault.actsBeforeAcceptance { return misbehave(fault, on: stream) }
        switch fault.kind {
        case .goAway, .settings:
            change(by: fault.kind, stream)
            batch.append(submission)
        case .duplicate(let count):
            // The copies have the same ticket, and the first answer is used.
            batch.append(contentsOf: repeatElement(submission, count: count))
        case .answer, .reset, .close, .hang, .delay, .lose, .errorPacket:
            rehearsed?.set(fault, on: stream)
            batch.append(submission)
        }
    }

    /// Does what a fault on a broadcast does before the broadcast is handed over.
    /// - Returns: Whether it is handed over.
    func prepare(_ fault: RequestFault, on stream: StreamID) -> Bool {
        begin()
        guard !fault.actsBeforeAcceptance else {
            misbehave(fault, on: stream)
            return false
        }
        switch fault.kind {
        case .goAway, .settings: change(by: fault.kind, stream)
        case .duplicate: break
        case .answer, .reset, .close, .hang, .delay, .lose, .errorPacket: rehearsed?.set(fault, on: stream)
        }
        return true
    }

    /// Carries out a fault on a request that is rejected.
    func carryOut(_ fault: RequestFault, on stream: StreamID, _ rejection: Rejection) {
        begin()
        switch fault.kind {
        case .goAway, .settings:
            change(by: fault.kind, stream)
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

    /// Returns whether a rehearsal handles an answer of `Delivery`.
    func isRehearsed(_ stream: StreamID, _ outcome: Outcome) -> Bool {
        // The client may have cancelled the request meanwhile, or this is the answer to a copy.
        guard let index = requests.index(of: stream), !requests[index].isAnswered else { return true }
        guard let fault = rehearsed?.takeFault(of: stream) else { return false }
        if case .delay(let delay) = fault.kind {
            later(stream, delay) { $0.answerNow(stream, outcome) }
        } else {
            misbehave(fault, on: stream)
        }
        return true
    }

    /// Counts a request that was answered, and sends a GOAWAY if it is now due.
    func countAnswer(of stream: StreamID) {
        if let reason = rehearsed?.countAnswer(of: stream) { sayGoodbye(reason) }
    }

    /// Forgets a stream that has ended, and sends a GOAWAY if it is now due.
    func forgetFaults(of stream: StreamID) {
        if let reason = rehearsed?.forget(stream) { sayGoodbye(reason) }
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

    private func begin() {
        if rehearsed == nil { rehearsed = RehearsedConnection() }
    }

    private func change(by kind: RequestFault.Kind, _ stream: StreamID) {
        switch kind {
        case .goAway(let reason, let left):
            rehearsed?.plan(reason, after: left, causedBy: stream)
        case .settings(let streams):
            rehearsed?.concurrentStreams = streams
            session?.announce(concurrentStreams: streams)
        default: break
        }
    }

    /// Sends GOAWAY, so that the client knows that later streams are not processed (RFC 9113, 6.8).
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

    private func misbehave(_ fault: RequestFault, on stream: StreamID) {
        settle(stream)
        switch fault.kind {
        case .answer(var rejection, let retryAfter):
            // A 410 always has a timestamp (Guide, Table 8-5).
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

    /// Marks the request as settled and releases its body.
    private func settle(_ stream: StreamID) {
        guard let index = requests.index(of: stream) else { return }
        requests[index].isSettled = true
        requests[index].body = []
    }

    /// Tells the observer that the request gets no answer.
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
            // Flush now, so that a request that was answered late does not stay open.
            connection.value.session?.flush()
        }
        rehearsed?.wait(timer, on: stream)
    }
}
