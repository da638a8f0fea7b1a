import HTTP2Core
package import NIOCore

// The methods for streams. They queue frames, which are sent with the next flush.
extension HTTP2Session {
    /// The result of a `write`.
    package enum WriteResult: Hashable, Sendable {
        /// Accepted. You may write more.
        case more
        /// Accepted. Do not write more until `writable` is called, because the peer reads slowly.
        case wait
        /// The bytes were not accepted. The stream is closed, was reset or is finished. Or they would exceed
        /// `maxBufferedBytes`; then the stream was reset now, because the application did not wait.
        case closed
    }

    /// The number of requests that can begin now.
    package var availableStreams: Int { state == .active ? endpoint.availableStreams : 0 }

    /// Client: sends a request. If `endStream` is false, `write` and `finish` send its body.
    ///
    /// The request is queued and gets its number at once. The application later gets the response and `streamClosed`.
    package func request(
        _ fields: FieldList,
        body: ByteBuffer? = nil,
        endStream: Bool = true
    ) throws(HTTP2Error) -> StreamID {
        guard role == .client else { throw HTTP2Error(.notAClient) }
        guard canSubmit else { throw HTTP2Error(.notActive) }
        let stream: StreamID
        do throws(HTTP2Endpoint.OpenFailure) {
            stream = try endpoint.open(fields, endStream: !hasBody(body, endStream: endStream))
        } catch {
            throw HTTP2Error(opening: error)
        }
        unsentFrames += 1
        streams.append(stream, StreamState(flags: endStream ? .localEnded : []))
        begin(body, of: stream, endStream: endStream)
        scheduleFlush()
        return stream
    }

    /// Server: sends a complete response. Returns false if the stream has ended or was answered.
    ///
    /// If the request has not ended, RST_STREAM with NO_ERROR follows the response (RFC 9113, 8.1).
    @discardableResult
    package func respond(_ stream: StreamID, _ fields: FieldList, body: ByteBuffer? = nil) -> Bool {
        respond(stream, fields, body: body, endStream: true)
    }

    /// Server: removes the limit of a request's body. The application limits what it keeps.
    package func allowEndlessBody(_ stream: StreamID) {
        guard let index = streams.index(of: stream) else { return }
        streams[index].flags.insert(.endlessBody)
    }

    /// Server: begins a response. If `endStream` is false, `write` and `finish` send its body, at any time. Returns
    /// false if the stream has ended or was answered.
    @discardableResult
    package func sendHeaders(_ stream: StreamID, _ fields: FieldList, endStream: Bool) -> Bool {
        respond(stream, fields, body: nil, endStream: endStream)
    }

    /// Server: sends an interim response, such as 100 (Continue), before the final one (RFC 9110, 15.2). Returns false if the
    /// stream has ended or was answered, or if the status is not 1xx.
    @discardableResult
    package func sendInterim(_ stream: StreamID, status: Int) -> Bool {
        guard role == .server, canSubmit, (100..<200).contains(status) else { return false }
        guard let index = streams.index(of: stream) else { return false }
        guard streams[index].flags.isDisjoint(with: [.responded, .reset]) else { return false }
        var fields = FieldList()
        fields.append(":status", String(status))
        guard case .sent = endpoint.sendFields(fields, endStream: false, on: stream) else { return false }
        unsentFrames += 1
        scheduleFlush()
        return true
    }

    private func respond(
        _ stream: StreamID,
        _ fields: FieldList,
        body: ByteBuffer?,
        endStream: Bool
    ) -> Bool {
        guard role == .server, canSubmit else { return false }
        guard let index = streams.index(of: stream) else { return false }
        guard streams[index].flags.isDisjoint(with: [.responded, .reset]) else { return false }
        let hasBody = hasBody(body, endStream: endStream)
        guard case .sent = endpoint.sendFields(fields, endStream: !hasBody, on: stream) else { return false }
        unsentFrames += 1
        streams[index].flags.insert(.responded)
        begin(body, of: stream, endStream: endStream)
        if endStream { localEnded(index, stream) }
        if !hasBody, streams[index].flags.contains(.answeredEarly) { countEarlyAnswer(stream) }
        scheduleFlush()
        return true
    }

    /// Sends bytes of a body that was begun with `endStream: false`.
    ///
    /// - Parameter schedulesFlush: false if the caller calls ``flush()`` after its last write, which saves a task of
    ///   the event loop.
    @discardableResult
    package func write(_ stream: StreamID, _ bytes: ByteBuffer, schedulesFlush: Bool = true) -> WriteResult {
        guard canSubmit, let index = streams.index(of: stream) else { return .closed }
        let flags = streams[index].flags
        guard let body = streams[index].outbound, flags.isDisjoint(with: [.reset, .localEnded]) else { return .closed }
        guard bufferedBytes + bytes.readableBytes <= configuration.maxBufferedBytes else {
            reset(stream, .internalError)
            return .closed
        }
        if bytes.readableBytes > 0 {
            body.append(bytes)
            bufferedBytes += bytes.readableBytes
            enqueue(body)
            if schedulesFlush { scheduleFlush() }
        }
        if body.bytes >= configuration.streamHighMark { body.isAboveMark = true }
        return body.isAboveMark ? .wait : .more
    }

    /// Ends a body that was begun with `endStream: false`.
    package func finish(_ stream: StreamID) {
        guard canSubmit, let index = streams.index(of: stream) else { return }
        guard let body = streams[index].outbound, !streams[index].flags.contains(.localEnded) else { return }
        body.isFinished = true
        localEnded(index, stream)
        enqueue(body)
        scheduleFlush()
    }

    /// Resets a stream with RST_STREAM. `streamClosed` follows, and no other call for this stream.
    package func reset(_ stream: StreamID, _ code: HTTP2ErrorCode) {
        guard canSubmit, let index = streams.index(of: stream) else { return }
        guard !streams[index].flags.contains(.reset) else { return }
        streams[index].flags.insert(.reset)
        endpoint.reset(stream, code)
        unsentFrames += 1
        scheduleFlush()
    }

    /// Stops opening the stream's window, so the peer can send at most `streamWindowBytes` more of the body. Other
    /// streams continue.
    package func pauseReading(_ stream: StreamID) { endpoint.pauseReading(stream) }

    /// Opens the stream's window again, also for bytes that came meanwhile.
    package func resumeReading(_ stream: StreamID) {
        endpoint.resumeReading(stream)
        scheduleFlush()
    }

    // MARK: Helpers

    private func localEnded(_ index: Int, _ stream: StreamID) {
        streams[index].flags.insert(.localEnded)
        if role == .server, !streams[index].flags.contains(.remoteEnded) {
            streams[index].flags.insert(.answeredEarly)
            earlyAnswers += 1
            endpoint.ignoreContent(stream)
        }
    }

    /// Whether something follows the fields.
    private func hasBody(_ bytes: ByteBuffer?, endStream: Bool) -> Bool {
        !endStream || (bytes?.readableBytes ?? 0) > 0
    }

    /// Begins the body of a stream, if something follows the fields.
    private func begin(_ bytes: ByteBuffer?, of stream: StreamID, endStream: Bool) {
        guard hasBody(bytes, endStream: endStream), let index = streams.index(of: stream) else { return }
        let body = OutboundBody(stream: stream)
        if let bytes { body.append(bytes) }
        body.isFinished = endStream
        streams[index].outbound = body
        bufferedBytes += body.bytes
        if body.bytes > 0 || body.isFinished { enqueue(body) }
    }
}
