import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications

/// A connection of a provider on which rehearsals cause faults, and what all such connections do alike.
protocol MisbehavingConnection: AnyObject, SendableMetatype {
    /// The provider API of the environment: its observer, its clock and its answers.
    var provider: ProviderAPI { get }
    var eventLoop: any EventLoop { get }
    var session: HTTP2Session? { get }
    /// The time of the last tick.
    var second: NIODeadline { get }
    /// The faults of rehearsals on this connection; nil until there is one.
    var rehearsed: RehearsedConnection? { get set }

    /// The number that the observer gave to a request; nil if it has none.
    func number(of stream: StreamID) -> UInt64?

    /// Answers a request with a rejection.
    /// - Parameter retryAfter: in seconds; nil for an answer without that header.
    func refuse(_ stream: StreamID, _ rejection: Rejection, retryAfter: Int?)
}

extension MisbehavingConnection {
    func beginRehearsal() {
        if rehearsed == nil { rehearsed = RehearsedConnection() }
    }

    // MARK: GOAWAY

    /// Counts a request that was answered, and sends a GOAWAY if it is now due.
    func countAnswer(of stream: StreamID) {
        if let reason = rehearsed?.countAnswer(of: stream) { sayGoodbye(reason) }
    }

    /// Forgets a stream that has ended, and sends a GOAWAY if it is now due.
    func forgetFaults(of stream: StreamID) {
        if let reason = rehearsed?.forget(stream) { sayGoodbye(reason) }
    }

    /// The debug data of a GOAWAY with this reason.
    func goAwayData(_ reason: Rejection.Reason) -> [UInt8] {
        Array(ProviderResponse.body(Rejection(reason), hasDetail: provider.answersHaveDetail).readableBytesView)
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

    // MARK: Answers that are wrong, late or missing

    /// Does what a fault does to the answer of a request. Faults about anything else are left to the caller.
    func spoilAnswer(_ fault: RequestFault, on stream: StreamID) {
        switch fault.kind {
        case .answer(var rejection, let retryAfter):
            // A 410 always has a timestamp (Guide, Table 8-5).
            if rejection.reason.status == 410, rejection.timestamp == nil {
                rejection.timestamp = provider.clock.machineTime.milliseconds
            }
            refuse(stream, rejection, retryAfter: retryAfter)
        case .reset(let code):
            reportUnanswered(on: stream, fault)
            session?.reset(stream, HTTP2ErrorCode(code))
        case .close(let kind):
            reportUnanswered(on: stream, fault)
            switch kind {
            case .fin: session?.close()
            case .rst: session?.abort()
            }
        case .hang:
            reportUnanswered(on: stream, fault)
            rehearsed?.hang(stream, since: second)
        case .goAway, .delay, .lose, .duplicate, .settings, .omit, .errorPacket:
            break
        }
    }

    /// Gives an answer after a delay.
    func later(_ stream: StreamID, _ delay: Duration, _ answer: @escaping (Self) -> Void) {
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

    /// Tells the observer that the request gets no answer.
    private func reportUnanswered(on stream: StreamID, _ fault: RequestFault) {
        guard let number = number(of: stream) else { return }
        provider.observation?.observer.unanswered(number, isDiscarded: fault.actsBeforeAcceptance)
    }
}
