import Connections
import HTTP2Core
package import NIOCore

// The methods for the connection as a whole. They queue frames, which are sent with the next flush.
extension HTTP2Session {
    /// Whether no new streams will come: a drain was begun, or GOAWAY was submitted or received.
    package var isDraining: Bool {
        if case .none = drain { return hasReceivedGoAway || hasSubmittedGoAway }
        return true
    }

    /// Server: changes how many streams the client may have open, at most `maxConcurrentStreams`.
    ///
    /// Streams that the client opened before it acknowledged a smaller number are served. Later ones are refused, and
    /// the application does not see them.
    package func announce(concurrentStreams: Int) {
        guard canSubmit, endpoint.announce(concurrentStreams: concurrentStreams) else { return }
        scheduleFlush()
    }

    /// Sends PING. The payload comes back with `pingAcknowledged`.
    package func ping(_ payload: UInt64) {
        guard canSubmit else { return }
        submitPing(payload)
        scheduleFlush()
    }

    /// Sends GOAWAY: streams above `lastStream` were not processed, and no new stream is accepted. By default
    /// `lastStream` is the last stream that the application has seen. Open streams continue. The channel is closed when
    /// the last one has ended, or at once by `close()`. Debug data beyond 16,376 bytes is cut off.
    package func goAway(
        lastStream: StreamID? = nil,
        _ code: HTTP2ErrorCode,
        debugData: [UInt8] = []
    ) {
        guard canSubmit else { return }
        submitLastGoAway(lastStream ?? lastProcessedStream, code, debugData)
        scheduleFlush()
    }

    private func submitLastGoAway(_ last: StreamID, _ code: HTTP2ErrorCode, _ debugData: [UInt8]) {
        hasSubmittedGoAway = true
        submitGoAway(last, code, debugData)
        hasNews = true
    }

    private func submitGoAway(_ last: StreamID, _ code: HTTP2ErrorCode, _ debugData: [UInt8]) {
        endpoint.goAway(lastStream: last, code, debugData: debugData)
        unsentFrames += 1
    }

    func submitPing(_ payload: UInt64) {
        endpoint.ping(payload)
        unsentFrames += 1
    }

    /// Begins a graceful end (RFC 9113, 6.8).
    ///
    /// A server sends GOAWAY with stream 2^31-1 and the debug data, and then a PING. It serves the requests that were
    /// under way. When the PING was answered, or `finishDrain()` is called, it sends a second GOAWAY with the last
    /// processed stream and the same data. A client makes no more requests and sends one GOAWAY. The channel is closed
    /// when the last stream has ended. The application has to limit how long that may take.
    package func drain(debugData: [UInt8] = []) {
        guard canSubmit, case .none = drain else { return }
        // The peer already knows that the connection ends.
        guard role == .server, !hasSubmittedGoAway, !hasReceivedGoAway else {
            drain = .finished(debugData: debugData)
            goAway(.noError, debugData: debugData)
            return
        }
        drain = .began(debugData: debugData)
        submitGoAway(.last, .noError, debugData)
        isDrainPingDue = true
        scheduleFlush()
    }

    /// Sends the second GOAWAY of a drain now, because the client takes too long to answer the PING.
    package func finishDrain() {
        guard case .began(let debugData) = drain else { return }
        drain = .finished(debugData: debugData)
        isDrainPingDue = false
        goAway(.noError, debugData: debugData)
    }

    /// Server: ends the connection by answering all requests first and then sending one GOAWAY.
    ///
    /// Clients with python-h2 refuse every frame after a GOAWAY, and so lose the answers that they wait for. Therefore
    /// GOAWAY comes last. Streams that the client opens meanwhile are refused with REFUSED_STREAM, and can be sent
    /// again elsewhere. The channel is closed when the last stream has ended. The application has to limit how long the
    /// answers may take.
    package func goAwayOnceAnswered(debugData: [UInt8] = []) {
        guard role == .server, canSubmit, case .none = drain else { return }
        guard !hasSubmittedGoAway else { return }
        drain = .answering(debugData: debugData)
        endpoint.refuseStreams()
        scheduleFlush()
    }

    /// Whether it is time for GOAWAY: all requests have their answers. Asked when nothing more is to be sent.
    var isGoAwayDue: Bool {
        // The GOAWAY of a connection error was the last one.
        guard case .answering = drain, endpoint.failure == nil else { return false }
        return state == .closing || streams.streams { !$0.isAnswered }.isEmpty
    }

    /// Sends the GOAWAY that follows all answers.
    func endAnswering() {
        guard case .answering(let debugData) = drain else { return }
        drain = .finished(debugData: debugData)
        submitLastGoAway(lastProcessedStream, .noError, debugData)
    }

    /// Closes the channel after the queued frames, such as GOAWAY, were written, or after `closeTimeoutSeconds`. Bytes
    /// of bodies for which the peer's windows have no room are not sent. The application then only gets `streamClosed`
    /// for the open streams, and `sessionClosed`.
    package func close() {
        switch state {
        case .active:
            beginClosing(.closed)
        case .idle:
            end = .closed
            context?.close(promise: nil)
        case .closing, .closed:
            break
        }
    }

    /// Closes the channel if fields of which the application was not told take too long. What is queued is written
    /// before.
    /// - Returns: Whether it did.
    package func closeIfFieldsAreOverdue(after timeout: TimeAmount, now: NIODeadline) -> Bool {
        guard state == .active, let began = endpoint.fieldsBegan, .uptimeNanoseconds(began) + timeout < now else {
            return false
        }
        close()
        return true
    }

    /// Closes the channel at once with RST, as if the machine had failed: for rehearsals, and for a client that does not
    /// read what is sent to it, which would keep it in memory otherwise.
    package func abort() {
        guard let channel = context?.channel else { return }
        AbruptEnd.close(channel)
    }
}
