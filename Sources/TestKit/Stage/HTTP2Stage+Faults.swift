import HTTP2
import Matching
import NIOCore
import Notifications

// The faults of rehearsals. They begin when the API has decided about a request.
extension HTTP2Stage {
    /// Does what a fault does before the API carries its decision out.
    func perform(_ fault: RequestFault, in scene: Scene) -> Performance {
        if faults == nil { faults = ConnectionFaults() }
        guard !fault.actsBeforeAcceptance else {
            misbehave(fault, in: scene)
            return Performance(times: 0)
        }
        var performance = Performance()
        switch fault.kind {
        case .goAway(let reason, let left): faults?.plan(reason, after: left, causedBy: scene.stream)
        case .settings(let streams):
            performer.fixedStreams = streams
            session?.announce(concurrentStreams: streams)
        case .omit(let header): performance.omits = header
        case .duplicate(let count): performance.times = count
        case .answer, .reset, .close, .hang, .delay, .lose, .errorPacket: scene.fault = fault
        }
        return performance
    }

    /// Does what the fault of a request does to its answer.
    func perform(_ fault: RequestFault, in scene: Scene, _ answer: @escaping () -> Void) {
        if case .delay(let delay) = fault.kind {
            later(scene.stream, delay, answer)
        } else {
            misbehave(fault, in: scene)
        }
    }

    private func misbehave(_ fault: RequestFault, in scene: Scene) {
        switch fault.kind {
        case .lose:
            performer.answer(scene.ticket, with: nil, retryAfter: nil)
        case .answer(let rejection, let retryAfter):
            performer.answer(scene.ticket, with: rejection, retryAfter: retryAfter)
        case .reset(let code):
            unanswered(scene, fault)
            session?.reset(scene.stream, HTTP2ErrorCode(code))
        case .close(let kind):
            unanswered(scene, fault)
            switch kind {
            case .fin: session?.close()
            case .rst: session?.abort()
            }
        case .hang:
            unanswered(scene, fault)
            faults?.hang(scene.stream, since: second)
        case .goAway, .delay, .duplicate, .settings, .omit, .errorPacket:
            break
        }
    }

    /// Tells the observer that the request gets no answer.
    private func unanswered(_ scene: Scene, _ fault: RequestFault) {
        guard let number = scene.number else { return }
        setting.observation.observer.unanswered(number, isDiscarded: fault.actsBeforeAcceptance)
    }

    /// Gives an answer after a delay.
    private func later(_ stream: StreamID, _ delay: Duration, _ answer: @escaping () -> Void) {
        let stage = NIOLoopBound(self, eventLoop: setting.eventLoop)
        let answer = NIOLoopBound(answer, eventLoop: setting.eventLoop)
        let timer = setting.eventLoop.scheduleTask(in: TimeAmount(delay)) {
            stage.value.faults?.timerFired(on: stream)
            answer.value()
            // Flush now, so that a request that was answered late does not stay open.
            stage.value.session?.flush()
        }
        faults?.wait(timer, on: stream)
    }

    /// Ends requests that a rehearsal keeps open.
    /// - Parameter now: ends those that have been open for too long; nil for all of them, because the service shuts
    ///   down.
    func endHanging(_ now: NIODeadline?) {
        guard let faults else { return }
        let limit = TimeAmount(RequestFault.longest)
        let streams =
            now.map { now in faults.hanging.filter { $0.value + limit < now }.map(\.key) } ?? faults.held
        for stream in streams { session?.reset(stream, .cancel) }
    }

    // MARK: GOAWAY

    /// Counts a request that is answered, and sends a GOAWAY if it is now due.
    func countAnswer(of stream: StreamID) {
        if let reason = faults?.countAnswer(of: stream) { sayGoodbye(reason) }
    }

    /// Sends GOAWAY, so that the client knows that later streams are not processed (RFC 9113, 6.8).
    ///
    /// What was answered is written first, and frames may not be written while others are read.
    func sayGoodbye(_ reason: Rejection.Reason) {
        let stage = NIOLoopBound(self, eventLoop: setting.eventLoop)
        setting.eventLoop.execute {
            let session = stage.value.session
            session?.flush()
            session?.goAway(.noError, debugData: Array(#"{"reason":"\#(reason.rawValue)"}"#.utf8))
        }
    }
}
