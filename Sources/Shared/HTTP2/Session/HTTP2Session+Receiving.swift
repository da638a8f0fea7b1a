import HTTP2Core
import NIOCore

// Receiving: the endpoint returns one event after the other, and the application is called with it.
extension HTTP2Session {
    /// The number of bytes that are compared at the start of a connection: the length of the client's preface (RFC
    /// 9113, 3.4).
    private static let prefixBytes = 24

    /// Reads the bytes that the channel has received. Keeps no reference to the buffer, so TLS can use it again.
    func receive(_ buffer: ByteBuffer, at now: NIODeadline) {
        switch state {
        case .active:
            isReading = true
            if !hasReceivedPreface, prefix.count < Self.prefixBytes {
                prefix.append(contentsOf: buffer.readableBytesView.prefix(Self.prefixBytes - prefix.count))
            }
            guard !isHandlingEvents else { return }
            read(buffer, at: now)
        case .closing:
            guard isReadWhileClosing, !hasSkippedBytes, !isHandlingEvents else {
                hasSkippedBytes = true
                return
            }
            read(buffer, at: now)
        case .idle, .closed:
            break
        }
    }

    private func read(_ buffer: ByteBuffer, at now: NIODeadline) {
        handlingEvents {
            buffer.withUnsafeReadableBytes { raw in
                let bytes = raw.bindMemory(to: UInt8.self)
                var position = 0
                while state == .active || isReadWhileClosing, pendingTeardown == nil {
                    // Answers would follow GOAWAY.
                    if state == .closing { endpoint.stopAnswering() }
                    guard let event = endpoint.next(bytes.span, at: &position, now: now.uptimeNanoseconds) else {
                        break
                    }
                    guard state == .active else {
                        handleWhileClosing(event, bytes)
                        continue
                    }
                    hasNews = true
                    handle(event, bytes)
                }
                if position < bytes.count { hasSkippedBytes = true }
            }
        }
        // Answers and windows may have been queued without an event.
        if state == .active, hasQueuedFrames { hasNews = true }
    }

    /// Whether what comes still matters although the channel is being closed.
    private var isReadWhileClosing: Bool { state == .closing && endpoint.tellsIgnored && hasSubmittedGoAway }

    /// Calls the application with the events that submitted frames have caused. Returns whether there were any.
    func handleQueuedEvents() -> Bool {
        var hasAny = false
        while state != .closed, pendingTeardown == nil, let event = endpoint.nextQueued() {
            hasAny = true
            handle(event, UnsafeBufferPointer(start: nil, count: 0))
        }
        return hasAny
    }

    private func handle(_ event: Event, _ bytes: UnsafeBufferPointer<UInt8>) {
        switch event {
        case .request(let stream, let endStream):
            request(stream, endStream: endStream, isTooLarge: false)
        case .response(let stream, let endStream):
            response(stream, endStream: endStream, isTooLarge: false)
        case .fieldsTooLarge(let stream, let endStream):
            switch role {
            case .server: request(stream, endStream: endStream, isTooLarge: true)
            case .client: response(stream, endStream: endStream, isTooLarge: true)
            }
        case .trailers(let stream):
            remoteEnded(stream)
        case .data(let stream, let range, let endStream):
            if !range.isEmpty { dataReceived(stream, UnsafeBufferPointer(rebasing: bytes[range])) }
            if endStream { remoteEnded(stream) }
        case .closed(let stream, let code, let fault):
            if let fault { whenFaulty?(fault) }
            streamClosed(stream, code)
        case .settings:
            prefix = []
            if state == .active { application?.settingsReceived(peerSettings) }
        case .ping:
            if role == .server, state == .active { application?.pingReceived() }
        case .pingAcknowledged(let payload):
            pingAcknowledged(payload)
        case .goAway(let last, let code, let debugData):
            guard state == .active else { return }
            application?.goAwayReceived(lastStream: last, error: code, debugData: debugData.span)
        case .windowUpdate:
            if role == .server, state == .active { callApplication { $0.windowUpdateReceived() } }
        case .priority(let stream):
            if role == .server, state == .active { callApplication { $0.priorityReceived(stream) } }
        case .failed(let fault):
            failed(fault)
        case .refused(let stream, let fault):
            refused(stream, fault)
        case .ignoredFields, .ignoredData:
            keepUnprocessed(event, bytes)
        case .interimResponse, .settingsAcknowledged:
            break
        }
    }

    // MARK: Requests and responses

    private func request(_ stream: StreamID, endStream: Bool, isTooLarge: Bool) {
        // Trailers that are too large are dropped as others are.
        if streams.contains(stream) { return remoteEnded(stream) }
        streams.append(stream, StreamState())
        fieldsReceived(stream, endStream: endStream, isTooLarge: isTooLarge)
    }

    private func response(_ stream: StreamID, endStream: Bool, isTooLarge: Bool) {
        guard let index = streams.index(of: stream), !streams[index].flags.contains(.reset) else { return }
        if streams[index].flags.contains(.responded) { return remoteEnded(stream) }
        streams[index].flags.insert(.responded)
        fieldsReceived(stream, endStream: endStream, isTooLarge: isTooLarge)
    }

    /// A malformed request, whose stream was reset. The application learns that it came. It does not learn of a request
    /// beyond the number of streams that was announced.
    private func refused(_ stream: StreamID, _ fault: Fault) {
        whenFaulty?(fault)
        guard fault.code != .refusedStream else { return }
        callApplication { $0.malformedRequest(stream, error: fault.code, rule: fault.description) }
    }

    /// Passes the fields on. It needs a copy of the list, because the application may submit frames during the call.
    private func fieldsReceived(_ stream: StreamID, endStream: Bool, isTooLarge: Bool) {
        let fields = endpoint.fields
        if !isTooLarge {
            callApplication { $0.fieldsReceived(stream, fields, endStream: endStream) }
        } else if application?.fieldsTooLarge(stream, fields) == false {
            reset(stream, .enhanceYourCalm)
        }
        if endStream { remoteEnded(stream) }
    }

    // MARK: Bodies and ends

    private func dataReceived(_ stream: StreamID, _ bytes: UnsafeBufferPointer<UInt8>) {
        guard let index = streams.index(of: stream) else { return }
        streams[index].received += bytes.count
        // After the answer or a reset, ignore the rest of the body (RFC 9113, 8.1). The endpoint does not open the
        // stream's window again, so the peer can send no more than the window.
        guard streams[index].flags.isDisjoint(with: [.reset, .answeredEarly, .bodyTooLarge]) else { return }
        if let limit = configuration.maxBodyBytes, streams[index].received > limit,
            !streams[index].flags.contains(.endlessBody)
        {
            streams[index].flags.insert(.bodyTooLarge)
            endpoint.ignoreContent(stream)
            if application?.bodyTooLarge(stream) == false { reset(stream, .cancel) }
            return
        }
        callApplication { $0.dataReceived(stream, bytes: bytes.span) }
    }

    /// The peer has ended its side of a stream.
    private func remoteEnded(_ stream: StreamID) {
        guard let index = streams.index(of: stream) else { return }
        streams[index].flags.insert(.remoteEnded)
        guard !streams[index].flags.contains(.reset), state == .active else { return }
        callApplication { $0.streamEnded(stream) }
    }

    private func streamClosed(_ stream: StreamID, _ code: HTTP2ErrorCode) {
        guard let closed = streams.remove(stream) else { return }
        if closed.flags.contains(.answeredEarly) { earlyAnswers -= 1 }
        if let body = closed.outbound { bufferedBytes -= body.discard() }
        callApplication { $0.streamClosed(stream, error: code) }
    }

    // MARK: The connection

    private func pingAcknowledged(_ payload: UInt64) {
        guard state == .active else { return }
        if payload == Drain.pingPayload, drain.debugData != nil {
            finishDrain()
        } else if payload == ReadAnswers.pingPayload, case .onceRead = configuration.earlyReset {
            earlyAnswersRead()
        } else {
            application?.pingAcknowledged(payload)
        }
    }

    /// The connection has failed, and the endpoint has written GOAWAY.
    private func failed(_ fault: Fault) {
        // A server that answers in HTTP/1 sends no valid frame.
        let isHTTP1 = !hasReceivedPreface && prefix.starts(with: "HTTP/".utf8)
        let reason: SessionEnd =
            if endpoint.isReadingPreface {
                PrefaceMismatch.of(prefix)
            } else if let kind = fault.flood {
                .flood(kind)
            } else if isHTTP1 {
                .plainHTTP1
            } else {
                .protocolError(fault.code, fault.rule)
            }
        beginClosing(reason)
        // TLS waits for the peer's close_notify, and would decrypt everything that a flood still sends. If the channel
        // cannot stop reading, that only costs time.
        if case .flood = reason { try? context?.channel.syncOptions?.setOption(.autoRead, value: false) }
    }

    // MARK: Requests that came too late

    /// The application only gets the ends of streams now.
    private func handleWhileClosing(_ event: Event, _ bytes: UnsafeBufferPointer<UInt8>) {
        if case .closed(let stream, let code, _) = event {
            streamClosed(stream, code)
        } else {
            keepUnprocessed(event, bytes)
        }
    }

    /// Keeps what came too late to be processed. Other events are of no more use.
    private func keepUnprocessed(_ event: Event, _ bytes: UnsafeBufferPointer<UInt8>) {
        switch event {
        case .ignoredFields(let stream, let endStream):
            guard let last = endpoint.lastAcceptedStream, stream > last else { return }
            unprocessedStreams.began(stream)
            let fields = endpoint.fields
            for index in 0..<fields.count where fields.bytes[fields.name(index)].elementsEqual(":path".utf8) {
                unprocessedStreams.setPath(Array(fields.bytes[fields.value(index)]), of: stream)
            }
            if endStream { unprocessedStreams.ended(stream) }
        case .ignoredData(let stream, let range, let endStream):
            guard unprocessedStreams.keeps(stream) else { return }
            unprocessedStreams.append(UnsafeBufferPointer(rebasing: bytes[range]), to: stream)
            if endStream { unprocessedStreams.ended(stream) }
        default: break
        }
    }
}
