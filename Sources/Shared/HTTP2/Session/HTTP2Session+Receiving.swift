import CNghttp2
import NIOCore

// Receiving: libnghttp2 gets the bytes and calls back. A callback returns 0, or an error that ends the session at once.
extension HTTP2Session {
    private static let go: Int32 = 0
    private static let giveUp = NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
    /// The number of bytes that are compared at the start of a connection: the length of the client's preface (RFC
    /// 9113, 3.4).
    private static let prefixBytes = 24

    /// Passes the bytes that the channel has read to libnghttp2. It keeps no reference to the buffer, so TLS can use it
    /// again.
    func receive(_ buffer: ByteBuffer) {
        guard state == .active else { return }
        isReading = true
        if let context { readTime = context.eventLoop.now }
        if !hasReceivedPreface, prefix.count < Self.prefixBytes {
            prefix.append(contentsOf: buffer.readableBytesView.prefix(Self.prefixBytes - prefix.count))
        }
        if let encodings { buffer.withUnsafeReadableBytes { encodings.reader.read($0) } }
        let result = withLibrary { library in
            buffer.withUnsafeReadableBytes { bytes in
                nghttp2_session_mem_recv(library, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
            }
        }
        guard let result else { return }
        if result < 0 { failed(Int32(clamping: result)) } else { countIgnored(buffer.readableBytes) }
    }

    /// Frames without a callback are counted by their bytes. While the session drains, requests that the client opened
    /// before it knew are ignored, as they should be.
    private func countIgnored(_ received: Int) {
        let bytes = ignored.received(received)
        guard bytes > 0, state == .active, !isDraining else { return }
        guard !flood.admit(ignoredBytes: bytes, at: readTime) else { return }
        floodKind = .ignoredBytes
        failed(Self.giveUp)
    }

    /// libnghttp2 failed, and its session can no longer be used. A last GOAWAY is written without it.
    func failed(_ result: Int32) {
        hasLibraryFailed = true
        let (reason, code): (SessionEnd, HTTP2ErrorCode) =
            switch result {
            case NGHTTP2_ERR_BAD_CLIENT_MAGIC.rawValue: (PrefaceMismatch.of(prefix), .protocolError)
            case NGHTTP2_ERR_TOO_MANY_CONTINUATIONS.rawValue: (.flood(.continuations), .enhanceYourCalm)
            case NGHTTP2_ERR_FLOODED.rawValue: (.flood(.acknowledgements), .enhanceYourCalm)
            case NGHTTP2_ERR_CALLBACK_FAILURE.rawValue:
                floodKind.map { (.flood($0), .enhanceYourCalm) } ?? (.protocolError(.internalError, ""), .internalError)
            default: (.protocolError(.internalError, String(cString: nghttp2_strerror(result))), .internalError)
            }
        // A peer that does not speak HTTP/2 would not understand GOAWAY (RFC 9113, 3.4, allows to omit it).
        if result != NGHTTP2_ERR_BAD_CLIENT_MAGIC.rawValue {
            let frame = OutgoingFrame.goAway(lastStream: lastProcessedStream, code: code, debugData: [])
            output.writeBytes(frame)
        }
        beginClosing(reason)
        // TLS waits for the peer's close_notify, and would decrypt everything that a flood still sends. If the channel
        // cannot stop reading, that only costs time.
        if case .flood = reason { try? context?.channel.syncOptions?.setOption(.autoRead, value: false) }
    }

    // MARK: Frames

    func frameBegan(_ head: nghttp2_frame_hd) -> Int32 {
        ignored.told(payloadBytes: head.length)
        switch UInt32(head.type) {
        case NGHTTP2_DATA.rawValue:
            let isIdle = head.length == 0 && head.flags & OutgoingFrame.endStreamFlag == 0
            return isIdle ? count(.idleFrames) : Self.go
        case NGHTTP2_HEADERS.rawValue:
            // A request allows further frames. Trailers and header blocks of closed streams do not.
            return role == .server ? count(.idleFrames) : Self.go
        case NGHTTP2_RST_STREAM.rawValue:
            // A reset of a stream that was answered throws no work away. libcurl sends one after each answer without a
            // body.
            return count(streams.index(of: StreamID(head.stream_id)) == nil ? .idleFrames : .resets)
        case NGHTTP2_SETTINGS.rawValue: return count(.settings)
        case NGHTTP2_PING.rawValue: return count(.pings)
        case NGHTTP2_PRIORITY.rawValue:
            if role == .server, state == .active { callApplication { $0.priorityReceived(StreamID(head.stream_id)) } }
            return count(.idleFrames)
        case NGHTTP2_WINDOW_UPDATE.rawValue:
            if role == .server, state == .active { callApplication { $0.windowUpdateReceived() } }
            return count(.idleFrames)
        default: return count(.idleFrames)
        }
    }

    func invalidFrameReceived() -> Int32 { count(.resets) }

    private func count(_ kind: FloodGuard.Kind) -> Int32 {
        flood.admit(kind, at: readTime) ? Self.go : tooMany(kind)
    }

    private func tooMany(_ kind: FloodGuard.Kind) -> Int32 {
        if floodKind == nil { floodKind = kind }
        return Self.giveUp
    }

    func frameReceived(_ frame: UnsafePointer<nghttp2_frame>) -> Int32 {
        let head = LibraryCallbacks.head(of: frame)
        let isEnd = head.flags & OutgoingFrame.endStreamFlag != 0
        // Do this only at the frame's end, because the rest of a frame may come with a later read.
        if isEnd || UInt32(head.type) != NGHTTP2_DATA.rawValue { hasNews = true }
        switch UInt32(head.type) {
        case NGHTTP2_DATA.rawValue:
            if isEnd { ended(StreamID(head.stream_id)) }
        case NGHTTP2_HEADERS.rawValue:
            headersEnded(StreamID(head.stream_id), endStream: isEnd)
        case NGHTTP2_SETTINGS.rawValue:
            settingsReceived(isAcknowledgement: head.flags & OutgoingFrame.acknowledgeFlag != 0)
        case NGHTTP2_PING.rawValue where head.flags & OutgoingFrame.acknowledgeFlag != 0:
            let payload = withUnsafeBytes(of: frame.pointee.ping.opaque_data) { $0.loadUnaligned(as: UInt64.self) }
            pingAcknowledged(UInt64(bigEndian: payload))
        case NGHTTP2_PING.rawValue:
            if role == .server, state == .active { application?.pingReceived() }
        case NGHTTP2_GOAWAY.rawValue:
            goAwayReceived(frame.pointee.goaway)
        default:
            break
        }
        return Self.go
    }

    // MARK: Headers

    func headersBegan(_ frame: UnsafePointer<nghttp2_frame>) -> Int32 {
        let head = LibraryCallbacks.head(of: frame)
        guard UInt32(head.type) == NGHTTP2_HEADERS.rawValue else { return Self.go }
        block = IncomingBlock()
        let stream = StreamID(head.stream_id)
        guard state == .active else { return Self.go }
        switch role {
        case .server:
            // Any other category is trailers.
            let category = UnsafeRawPointer(frame).assumingMemoryBound(to: nghttp2_headers.self).pointee.cat
            return category == NGHTTP2_HCAT_REQUEST ? requestBegan(stream) : Self.go
        case .client:
            if let index = streams.index(of: stream), streams[index].flags.isDisjoint(with: [.responded, .reset]) {
                block.kind = .undecided
            }
            return Self.go
        }
    }

    private func requestBegan(_ stream: StreamID) -> Int32 {
        if case .answering = drain {
            // An honest client may have sent this stream before it knew the smaller number.
            flood.streamOpened()
            nghttp2_submit_rst_stream(library, 0, stream.rawValue, HTTP2ErrorCode.refusedStream.rawValue)
            return Self.go
        }
        guard concurrency.admits(openStreams: streams.count) else {
            // The client has acknowledged a smaller number, so refuse the stream as one that was not processed.
            nghttp2_submit_rst_stream(
                library, 0, stream.rawValue, HTTP2ErrorCode.refusedStream.rawValue)
            return count(.resets)
        }
        flood.streamOpened()
        lastProcessedStream = max(lastProcessedStream, stream)
        streams.append(stream, StreamState())
        block.kind = .told
        callApplication { $0.headersBegan(stream) }
        return Self.go
    }

    func headerReceived(
        _ stream: StreamID, name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>
    )
        -> Int32
    {
        let form = encodings?.reader.next(of: stream)
        // This cannot overflow within one block: a frame's length has 24 bits, and each byte stands for at most 4 KiB
        // of the table.
        block.listBytes += name.count + value.count + IncomingBlock.bytesPerField
        guard block.listBytes <= configuration.maxHeaderListBytes else {
            block.isTooLarge = true
            let bomb = configuration.maxHeaderListBytes.multipliedReportingOverflow(by: configuration.headerBombFactor)
            return !bomb.overflow && block.listBytes > bomb.partialValue ? tooMany(.headers) : Self.go
        }
        guard state == .active else { return Self.go }
        switch block.kind {
        case .told: break
        case .skipped: return Self.go
        case .undecided:
            // `:status` is the only pseudo-header field of a response, so it comes first.
            if value.first == UInt8(ascii: "1") {
                block.kind = .skipped
                return Self.go
            }
            block.kind = .told
            if let index = streams.index(of: stream) { streams[index].flags.insert(.responded) }
            callApplication { $0.headersBegan(stream) }
        }
        if let form { callApplication { $0.headerEncoded(stream, name: name.span, as: form) } }
        callApplication { $0.headerReceived(stream, name: name.span, value: value.span) }
        return Self.go
    }

    private func headersEnded(_ stream: StreamID, endStream: Bool) {
        if block.kind == .told, state == .active {
            if !block.isTooLarge {
                callApplication { $0.headersEnded(stream, endStream: endStream) }
            } else if application?.headersTooLarge(stream) == false {
                reset(stream, .enhanceYourCalm)
            }
        }
        block = IncomingBlock()
        if endStream { ended(stream) }
    }

    // MARK: Bodies and ends

    func dataReceived(_ stream: StreamID, bytes: UnsafeBufferPointer<UInt8>) -> Int32 {
        guard let index = streams.index(of: stream), state == .active else {
            // The stream was refused or is being closed, but its bytes still count for the connection's window.
            nghttp2_session_consume(library, stream.rawValue, bytes.count)
            return state == .active ? count(.idleFrames) : Self.go
        }
        streams[index].received += bytes.count
        // After the answer or a reset, ignore the rest of the body (RFC 9113, 8.1) and do not open the stream's window
        // again. So the peer can send no more than the window.
        guard streams[index].flags.isDisjoint(with: [.reset, .answeredEarly, .bodyTooLarge]) else {
            nghttp2_session_consume_connection(library, bytes.count)
            return count(.idleFrames)
        }
        if streams[index].flags.contains(.paused) {
            streams[index].unconsumed += bytes.count
            nghttp2_session_consume_connection(library, bytes.count)
        } else {
            nghttp2_session_consume(library, stream.rawValue, bytes.count)
        }
        if let limit = configuration.maxBodyBytes, streams[index].received > limit,
            !streams[index].flags.contains(.endlessBody)
        {
            streams[index].flags.insert(.bodyTooLarge)
            if application?.bodyTooLarge(stream) == false { reset(stream, .cancel) }
            return Self.go
        }
        callApplication { $0.dataReceived(stream, bytes: bytes.span) }
        return Self.go
    }

    private func ended(_ stream: StreamID) {
        guard let index = streams.index(of: stream) else { return }
        streams[index].flags.insert(.remoteEnded)
        guard !streams[index].flags.contains(.reset), state == .active else { return }
        callApplication { $0.streamEnded(stream) }
    }

    /// libnghttp2 closed a stream, while it reads or while it writes.
    func streamClosed(_ stream: StreamID, _ code: HTTP2ErrorCode) -> Int32 {
        guard let closed = streams.remove(stream) else { return Self.go }
        if closed.flags.contains(.answeredEarly) { earlyAnswers -= 1 }
        if let body = closed.outbound { bufferedBytes -= body.discard() }
        callApplication { $0.streamClosed(stream, error: code) }
        return Self.go
    }

    // MARK: Connection

    private func settingsReceived(isAcknowledgement: Bool) {
        if isAcknowledgement {
            if concurrency.settingsAcknowledged() { submitConcurrentStreams() }
            return
        }
        hasReceivedPreface = true
        prefix = []
        guard state == .active else { return }
        application?.settingsReceived(peerSettings)
    }

    private func pingAcknowledged(_ payload: UInt64) {
        guard state == .active else { return }
        if payload == Drain.pingPayload, drain.debugData != nil {
            finishDrain()
        } else {
            application?.pingAcknowledged(payload)
        }
    }

    private func goAwayReceived(_ frame: nghttp2_goaway) {
        hasReceivedGoAway = true
        guard state == .active else { return }
        application?.goAwayReceived(
            lastStream: StreamID(frame.last_stream_id),
            error: HTTP2ErrorCode(frame.error_code),
            debugData: UnsafeBufferPointer(start: frame.opaque_data, count: frame.opaque_data_len).span
        )
    }
}
