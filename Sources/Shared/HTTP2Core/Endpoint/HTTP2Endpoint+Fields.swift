// HEADERS and CONTINUATION (RFC 9113, 6.2 and 6.10), and the messages that they begin and end (8.1).
extension HTTP2Endpoint {
    mutating func handleHeaders(_ head: FrameHead, _ payload: Span<UInt8>, _ now: UInt64) throws(Fault) -> Event? {
        // A request allows further frames. Trailers and field blocks of closed streams do not.
        if role == .server { try flood.countIdleFrame(at: now) }
        try checkStream(of: head)
        let isPadded = head.has(FrameFlag.padded)
        guard !isPadded || !payload.isEmpty else { throw Self.tooMuchPadding("RFC 9113, 6.2") }
        // RFC 9113, 5.3.2: the five bytes of a priority are skipped.
        let start = (isPadded ? 1 : 0) + (head.has(FrameFlag.priority) ? 5 : 0)
        guard payload.count >= start else {
            throw Fault(.frameSizeError, "RFC 9113, 4.2", "HEADERS is too short for its priority")
        }
        let padding = isPadded ? Int(payload[0]) : 0  // fits: a byte
        guard padding <= payload.count - start else { throw Self.tooMuchPadding("RFC 9113, 6.2") }
        let fragment = payload.extracting(start..<payload.count - padding)
        let endStream = head.has(FrameFlag.endStream)
        if head.has(FrameFlag.endHeaders) { return try endBlock(head.stream, endStream, fragment, now) }
        var bytes: [UInt8] = []
        bytes.append(copying: fragment)
        block = OpenBlock(stream: head.stream, endStream: endStream, bytes: bytes)
        return nil
    }

    mutating func handleContinuation(
        _ head: FrameHead, _ payload: Span<UInt8>, _ now: UInt64
    ) throws(Fault) -> Event? {
        guard var open = block.take() else { return nil }
        open.continuations += 1
        // RFC 9113, 10.5.1: the number of frames and of bytes is limited, whatever the block is for.
        guard open.continuations <= limits.maxContinuations,
            open.bytes.count + payload.count <= limits.maxFieldBlockBytes
        else { throw Fault(flood: .continuations) }
        open.bytes.append(copying: payload)
        if head.has(FrameFlag.endHeaders) { return try endBlock(open.stream, open.endStream, open.bytes.span, now) }
        block = open
        return nil
    }

    /// RFC 9113, 5.1 and 5.1.1: which numbers a peer's HEADERS may have. What was under way when we reset the stream, or
    /// when we sent GOAWAY, is discarded. We take no answer on a closed stream for an error: a client has nothing to lose.
    private mutating func checkStream(of head: FrameHead) throws(Fault) {
        switch role {
        case .server:
            guard head.stream.isOfClient else {
                throw Fault(.protocolError, "RFC 9113, 5.1.1", "a client opens a stream with an even number")
            }
            guard head.stream <= lastPeerStream, !streams.contains(head.stream),
                head.stream <= lastAcceptedStream ?? .last, !closedStreams.mayBeUnderWay(head.stream)
            else { return }
            guard !closedStreams.wasSkipped(head.stream) else {
                throw Fault(.protocolError, "RFC 9113, 5.1.1", "a client opens a stream with a number that it skipped")
            }
            throw Fault(.streamClosed, "RFC 9113, 5.1", "HEADERS came on a closed stream")
        case .client:
            guard case .idle = place(of: head.stream) else { return }
            throw Fault(.protocolError, "RFC 9113, 5.1", "HEADERS came on an idle stream of a client")
        }
    }

    /// Decodes a complete field block. It is decoded even if its stream is closed (RFC 9113, 4.3).
    private mutating func endBlock(
        _ stream: StreamID, _ endStream: Bool, _ block: Span<UInt8>, _ now: UInt64
    ) throws(Fault) -> Event? {
        fieldsBegan = nil
        let maximum = limits.maxHeaderListBytes
        let bomb = maximum.multipliedReportingOverflow(by: max(1, limits.headerBombFactor))
        try decoder.decode(block, maximum: maximum, bomb: bomb.overflow ? .max : bomb.partialValue)
        let event = try fieldsEnded(stream, endStream, now)
        switch event {
        // Only requests and responses come again, and only those that are whole and valid were checked.
        case .request, .response: decoder.keepFields(of: block)
        default: break
        }
        return event
    }

    private mutating func fieldsEnded(
        _ stream: StreamID, _ endStream: Bool, _ now: UInt64
    ) throws(Fault) -> Event? {
        switch place(of: stream) {
        case .open(let index):
            return try fieldsOfOpenStream(index, stream, endStream, now)
        case .closed:
            if role == .client { try flood.countIdleFrame(at: now) }
            return tellsIgnored ? .ignoredFields(stream, endStream: endStream) : nil
        case .idle:
            return try openStream(stream, endStream, now)
        }
    }

    // MARK: Server: a new stream

    private mutating func openStream(
        _ stream: StreamID, _ endStream: Bool, _ now: UInt64
    ) throws(Fault) -> Event? {
        closedStreams.opened(stream, after: lastPeerStream)
        lastPeerStream = stream
        if let last = lastAcceptedStream, stream > last {
            // As many may have been under way when the peer was told.
            let underWay = Int(clamping: stream.rawValue - max(last, lastProcessedStream).rawValue) / 2
            if underWay <= limits.maxConcurrentStreams { flood.streamOpened() }
            // RFC 9113, 6.8: GOAWAY says itself that they were not processed.
            if stream <= state.closing.sentGoAway ?? .last { try answer { $0.reset(stream, .refusedStream) } }
            return tellsIgnored ? .ignoredFields(stream, endStream: endStream) : nil
        }
        flood.streamOpened()
        let allowed = min(local.maxConcurrentStreams ?? .max, limits.maxConcurrentStreams)
        guard streams.count < allowed else {
            let fault = Fault(.refusedStream, "RFC 9113, 5.1.2", "more streams are open than allowed")
            try resetForFault(stream, fault, now)
            return .refused(stream, fault)
        }
        lastProcessedStream = stream
        var new = Stream(
            stream, sendWindow: peerSettings.streamWindowBytes, receiveWindow: local.inForce.streamWindowBytes)
        new.flags = endStream ? [.hasMessage, .remoteEnded] : .hasMessage
        do throws(Fault) {
            let rules = try check(as: .request)
            // What was left out of a list that is too large may be a content-length.
            if !decoder.isTooLarge {
                if rules.isConnect {
                    new.flags.insert(.isTunnel)
                } else {
                    new.missingContent = rules.contentLength
                }
            }
            guard !endStream || (new.missingContent ?? 0) == 0 else {
                throw MessageRules.malformed("RFC 9113, 8.1.1", "the content does not have the content-length")
            }
        } catch {
            try resetForFault(stream, error, now)
            return .refused(stream, error)
        }
        streams.append(stream, new)
        return decoder.isTooLarge
            ? .fieldsTooLarge(stream, endStream: endStream) : .request(stream, endStream: endStream)
    }

    /// Checks the fields that were decoded: all of them, or as many as fit.
    private mutating func check(as kind: MessageRules.Kind) throws(Fault) -> MessageRules {
        try MessageRules.check(
            fields, as: kind, isComplete: !decoder.isTooLarge, allowsBlanks: limits.allowsBlanksAroundValues)
    }

    // MARK: Responses and trailers

    private mutating func fieldsOfOpenStream(
        _ index: Int, _ id: StreamID, _ endStream: Bool, _ now: UInt64
    ) throws(Fault) -> Event? {
        let flags = streams[index].flags
        let event: Event?
        do throws(Fault) {
            guard !flags.contains(.remoteEnded) else {
                throw Fault(.streamClosed, "RFC 9113, 5.1", "HEADERS came on a stream that is half-closed (remote)")
            }
            guard !flags.contains(.isTunnel) else {
                throw MessageRules.malformed("RFC 9113, 8.5", "HEADERS came on a tunnel")
            }
            event =
                flags.contains(.hasMessage)
                ? try endWithTrailers(index, id, endStream) : try respond(index, id, endStream)
        } catch {
            try streamError(id, error, now)
            return nil
        }
        // A response may have any number of interim ones before it.
        if case .interimResponse? = event { try flood.countIdleFrame(at: now) }
        return event
    }

    /// RFC 9113, 8.1: trailers end the stream.
    private mutating func endWithTrailers(_ index: Int, _ id: StreamID, _ endStream: Bool) throws(Fault) -> Event? {
        guard endStream else {
            throw MessageRules.malformed("RFC 9113, 8.1", "HEADERS after the message does not end the stream")
        }
        _ = try check(as: .trailers)
        try remoteEnds(index, id)
        return decoder.isTooLarge ? .fieldsTooLarge(id, endStream: true) : .trailers(id)
    }

    /// Client: an interim or the final response (RFC 9113, 8.1).
    private mutating func respond(_ index: Int, _ id: StreamID, _ endStream: Bool) throws(Fault) -> Event? {
        let rules = try check(as: .response)
        // 0: the status was left out of a list that is too large.
        if rules.status > 0, rules.status < 200 {
            guard !endStream else {
                throw MessageRules.malformed("RFC 9113, 8.1", "an interim response ends the stream")
            }
            return .interimResponse(id)
        }
        var missing: UInt64?
        var isTunnel = false
        let flags = streams[index].flags
        if flags.contains(.isConnect), (200..<300).contains(rules.status) {
            isTunnel = true
        } else if flags.contains(.isHead) || rules.status == 204 || rules.status == 304 {
            // RFC 9113, 8.1.1: these have no content, whatever content-length says.
            missing = 0
        } else if !decoder.isTooLarge {
            missing = rules.contentLength
        }
        streams[index].flags.insert(isTunnel ? [.hasMessage, .isTunnel] : .hasMessage)
        streams[index].missingContent = missing
        if endStream { try remoteEnds(index, id) }
        return decoder.isTooLarge
            ? .fieldsTooLarge(id, endStream: endStream) : .response(id, endStream: endStream)
    }

    /// The peer's fields have ended the stream: the content has to be complete (RFC 9113, 8.1.1).
    private mutating func remoteEnds(_ index: Int, _ id: StreamID) throws(Fault) {
        guard (streams[index].missingContent ?? 0) == 0 else {
            throw MessageRules.malformed("RFC 9113, 8.1.1", "the content does not have the content-length")
        }
        streams[index].flags.insert(.remoteEnded)
        closeIfEnded(index, id)
    }
}
