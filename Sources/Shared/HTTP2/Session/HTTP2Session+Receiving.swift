import NIOCore

// Receiving: the protocol's part reports what it has read. A method that returns false has found a flood, whose kind is
// in `floodKind`: the session has to end at once.
extension HTTP2Session {
    /// The number of bytes that are compared at the start of a connection: the length of the client's preface (RFC
    /// 9113, 3.4).
    private static let prefixBytes = 24

    /// Passes the bytes that the channel has read to the protocol's part. It keeps no reference to the buffer, so TLS
    /// can use it again.
    func receive(_ buffer: ByteBuffer) {
        if let context { readTime = context.eventLoop.now }
        guard state == .active else {
            if state == .closing { readWhileClosing(buffer) }
            return
        }
        isReading = true
        if !hasReceivedPreface, prefix.count < Self.prefixBytes {
            prefix.append(contentsOf: buffer.readableBytesView.prefix(Self.prefixBytes - prefix.count))
        }
        guard !isInProtocol, !hasFailed else { return }
        read(buffer)
    }

    /// The session ends, and the protocol's part has written the last GOAWAY.
    func endReading(_ reason: SessionEnd) {
        beginClosing(reason)
        // TLS waits for the peer's close_notify, and would decrypt everything that a flood still sends. If the channel
        // cannot stop reading, that only costs time.
        if case .flood = reason { try? context?.channel.syncOptions?.setOption(.autoRead, value: false) }
    }

    /// The reason of an end with a protocol error. A server that answers in HTTP/1 sends no valid frame.
    func protocolError(_ code: HTTP2ErrorCode, _ text: String) -> SessionEnd {
        let isHTTP1 = !hasReceivedPreface && prefix.starts(with: "HTTP/".utf8)
        return isHTTP1 ? .plainHTTP1 : .protocolError(code, text)
    }

    /// Counts a frame.
    func count(_ kind: FloodGuard.Kind) -> Bool { flood.admit(kind, at: readTime) || isFlood(kind) }

    /// Records a flood. Always false.
    func isFlood(_ kind: FloodGuard.Kind) -> Bool {
        if floodKind == nil { floodKind = kind }
        return false
    }

    // MARK: Headers

    enum Admission {
        /// The application knows the stream.
        case admitted
        /// The stream was refused.
        case refused
        /// Too many had to be refused.
        case flood
    }

    /// Server: a request begins.
    func requestBegan(_ stream: StreamID) -> Admission {
        // An honest client may have sent a stream before it knew of GOAWAY, so this is no idle frame.
        if let last = lastStreamOfGoAway, stream > last {
            // GOAWAY says that it was not processed, also while it still waits to be sent. It closes the stream.
            flood.streamOpened()
            return .refused
        }
        if case .answering = drain {
            flood.streamOpened()
            submitReset(stream, .refusedStream)
            return .refused
        }
        guard admitsStream else {
            // The client has acknowledged a smaller number, so refuse the stream as one that was not processed.
            submitReset(stream, .refusedStream)
            return count(.resets) ? .refused : .flood
        }
        flood.streamOpened()
        lastProcessedStream = max(lastProcessedStream, stream)
        streams.append(stream, StreamState())
        callApplication { $0.headersBegan(stream) }
        return .admitted
    }

    /// Client: the final response begins.
    func responseBegan(_ stream: StreamID) {
        if let index = streams.index(of: stream) { streams[index].flags.insert(.responded) }
        callApplication { $0.headersBegan(stream) }
    }

    /// All fields of a request or a response have come.
    func fieldsEnded(_ stream: StreamID, endStream: Bool, isTooLarge: Bool) {
        guard state == .active else { return }
        if !isTooLarge {
            callApplication { $0.headersEnded(stream, endStream: endStream) }
        } else if application?.headersTooLarge(stream) == false {
            reset(stream, .enhanceYourCalm)
        }
    }

    // MARK: Bodies and ends

    /// Passes on a part of a body.
    func bodyReceived(_ index: Int, _ stream: StreamID, bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        streams[index].received += bytes.count
        // After the answer or a reset, ignore the rest of the body (RFC 9113, 8.1) and do not open the stream's window
        // again. So the peer can send no more than the window.
        guard streams[index].flags.isDisjoint(with: [.reset, .answeredEarly, .bodyTooLarge]) else {
            consumeOfConnection(stream, bytes.count)
            return count(.idleFrames)
        }
        if streams[index].flags.contains(.paused) {
            streams[index].unconsumed += bytes.count
            consumeOfConnection(stream, bytes.count)
        } else {
            consume(stream, bytes.count)
        }
        if let limit = configuration.maxBodyBytes, streams[index].received > limit,
            !streams[index].flags.contains(.endlessBody)
        {
            streams[index].flags.insert(.bodyTooLarge)
            holdWindow(stream)
            if application?.bodyTooLarge(stream) == false { reset(stream, .cancel) }
            return true
        }
        callApplication { $0.dataReceived(stream, bytes: bytes.span) }
        return true
    }

    /// The peer has ended its side of a stream.
    func remoteEnded(_ stream: StreamID) {
        guard let index = streams.index(of: stream) else { return }
        streams[index].flags.insert(.remoteEnded)
        guard !streams[index].flags.contains(.reset), state == .active else { return }
        callApplication { $0.streamEnded(stream) }
    }

    /// A stream was closed, while bytes are read or sent.
    func streamClosed(_ stream: StreamID, _ code: HTTP2ErrorCode) {
        guard let closed = streams.remove(stream) else { return }
        if closed.flags.contains(.answeredEarly) { earlyAnswers -= 1 }
        if let body = closed.outbound { bufferedBytes -= body.discard() }
        callApplication { $0.streamClosed(stream, error: code) }
    }

    // MARK: Connection

    /// The peer's SETTINGS apply.
    func settingsReceived() {
        hasReceivedPreface = true
        prefix = []
        guard state == .active else { return }
        application?.settingsReceived(peerSettings)
    }

    func priorityReceived(_ stream: StreamID) {
        if role == .server, state == .active { callApplication { $0.priorityReceived(stream) } }
    }

    func windowUpdateReceived() {
        if role == .server, state == .active { callApplication { $0.windowUpdateReceived() } }
    }

    func pingReceived() {
        if role == .server, state == .active { application?.pingReceived() }
    }

    func pingAcknowledged(_ payload: UInt64) {
        guard state == .active else { return }
        if payload == Drain.pingPayload, drain.debugData != nil {
            finishDrain()
        } else if payload == ReadAnswers.pingPayload, case .onceRead = configuration.earlyReset {
            earlyAnswersRead()
        } else {
            application?.pingAcknowledged(payload)
        }
    }

    func goAwayReceived(_ last: StreamID, _ code: HTTP2ErrorCode, debugData: UnsafeBufferPointer<UInt8>) {
        hasReceivedGoAway = true
        guard state == .active else { return }
        application?.goAwayReceived(lastStream: last, error: code, debugData: debugData.span)
    }
}
