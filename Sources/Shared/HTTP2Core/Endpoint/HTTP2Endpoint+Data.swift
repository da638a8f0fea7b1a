/// A DATA frame that is being received (RFC 9113, 6.1).
struct DataProgress {
    var stream: StreamID
    var endStream: Bool
    /// The bytes of the payload that have not come, with the padding.
    var remaining: Int
    /// The length of the padding; nil if its byte has not come.
    var padding: Int?
    /// The stream is closed, or the frame is in error.
    var isIgnored = false
    /// The user is told of the content although it is ignored. The stream was closed before the frame, so that no event
    /// of the stream comes between.
    var isTold = false
}

// DATA: flow control (RFC 9113, 5.2 and 6.9), padding (6.1) and content-length (8.1.1). Content is passed on in the
// parts in which it comes.
extension HTTP2Endpoint {
    mutating func beginData(
        _ head: FrameHead, _ bytes: Span<UInt8>, _ position: inout Int, _ now: UInt64
    ) throws(Fault) -> Event? {
        guard head.stream != .connection else {
            throw Fault(.protocolError, "RFC 9113, 6.1", "DATA has the stream 0")
        }
        // RFC 9113, 6.9: the frame counts for the connection's window, even if it is in error.
        guard receiveWindow.receive(head.length) else {
            throw Fault(.flowControlError, "RFC 9113, 6.9.1", "DATA exceeds the connection's window")
        }
        receiveWindow.consume(head.length)
        if let increment = receiveWindow.increment(size: limits.connectionWindowBytes) {
            try answer { $0.windowUpdate(.connection, by: increment) }
        }
        var progress = DataProgress(
            stream: head.stream, endStream: head.has(FrameFlag.endStream), remaining: head.length,
            padding: head.has(FrameFlag.padded) ? nil : 0)
        guard head.length > 0 || progress.padding != nil else { throw Self.tooMuchPadding("RFC 9113, 6.1") }
        switch place(of: head.stream) {
        case .idle:
            throw Fault(.protocolError, "RFC 9113, 5.1", "DATA came on an idle stream")
        case .closed:
            // RFC 9113, 5.1 and 5.4.2: what was under way when the stream was reset is discarded.
            progress.isIgnored = true
            progress.isTold = tellsIgnored
            try flood.countIdleFrame(at: now)
            // RFC 9113, 6.8: a peer that does not know our GOAWAY yet may send whole requests.
            if head.stream <= lastAcceptedStream ?? .last {
                try flood.countIgnored(FrameHead.byteCount + head.length, at: now)
                if !closedStreams.mayBeUnderWay(head.stream) { try resetForFault(head.stream, Self.dataOnClosed, now) }
            }
        case .open(let index):
            let isUnwanted = streams[index].flags.contains(.ignoresContent)
            if isUnwanted || head.length == 0 && !progress.endStream { try flood.countIdleFrame(at: now) }
            progress.isIgnored = try !accept(head, index, now)
        }
        if progress.padding != nil { try countContent(&progress, now) }
        reading = .data(progress)
        return try readData(progress, bytes, &position, now)
    }

    /// Checks a DATA frame of an open stream. Returns false after a stream error.
    private mutating func accept(_ head: FrameHead, _ index: Int, _ now: UInt64) throws(Fault) -> Bool {
        let flags = streams[index].flags
        var fault: Fault?
        if flags.contains(.remoteEnded) {
            fault = Fault(.streamClosed, "RFC 9113, 5.1", "DATA came on a stream that is half-closed (remote)")
        } else if !flags.contains(.hasMessage) {
            fault = MessageRules.malformed("RFC 9113, 8.1", "DATA came before the response")
        } else if !streams[index].receiveWindow.receive(head.length) {
            fault = Fault(.flowControlError, "RFC 9113, 6.9.1", "DATA exceeds the stream's window")
        }
        guard let fault else { return true }
        try streamError(head.stream, fault, now)
        return false
    }

    private static var dataOnClosed: Fault { Fault(.streamClosed, "RFC 9113, 6.1", "DATA came on a closed stream") }

    static func tooMuchPadding(_ section: StaticString) -> Fault {
        Fault(.protocolError, section, "the padding is not shorter than the payload")
    }

    /// Reads on in a DATA frame.
    mutating func readData(
        _ progress: DataProgress, _ bytes: Span<UInt8>, _ position: inout Int, _ now: UInt64
    ) throws(Fault) -> Event? {
        var progress = progress
        if progress.padding == nil {
            guard position < bytes.count else { return nil }
            let padding = Int(bytes[position])  // fits: a byte
            position += 1
            progress.remaining -= 1
            guard padding <= progress.remaining else { throw Self.tooMuchPadding("RFC 9113, 6.1") }
            progress.padding = padding
            // Padding takes no room.
            if !progress.isIgnored, let index = streams.index(of: progress.stream) {
                streams[index].receiveWindow.consume(padding + 1)  // fits: a byte
            }
            // Padding alone is as idle as an empty frame (CVE-2019-9518).
            if !progress.isIgnored, padding == progress.remaining, !progress.endStream {
                try flood.countIdleFrame(at: now)
            }
            try countContent(&progress, now)
        }
        let padding = progress.padding ?? 0
        // fits: a byte, less than a frame's length
        let content = position..<position + min(max(0, progress.remaining - padding), bytes.count - position)
        position = content.upperBound
        progress.remaining -= content.count
        if progress.remaining <= padding {
            let rest = min(progress.remaining, bytes.count - position)
            position += rest
            progress.remaining -= rest
        }
        let isEnd = progress.remaining == 0
        reading = isEnd ? .head : .data(progress)
        guard !progress.isIgnored, let index = streams.index(of: progress.stream) else {
            let endStream = isEnd && progress.endStream
            guard progress.isTold, !content.isEmpty || endStream else { return nil }
            return .ignoredData(progress.stream, content, endStream: endStream)
        }
        return try deliver(content, index, progress, isEnd: isEnd)
    }

    /// RFC 9113, 8.1.1: compares the frame's content with what is missing by content-length, before any of it is passed
    /// on.
    private mutating func countContent(_ progress: inout DataProgress, _ now: UInt64) throws(Fault) {
        guard !progress.isIgnored, let index = streams.index(of: progress.stream) else { return }
        let content = UInt64(max(0, progress.remaining - (progress.padding ?? 0)))  // fits: not negative
        let endStream = progress.endStream
        let isRight = streams.update(at: index) { stream in
            guard let missing = stream.missingContent else { return true }
            guard missing >= content else { return false }
            stream.missingContent = missing - content
            return !endStream || missing == content
        }
        guard !isRight else { return }
        progress.isIgnored = true
        let fault = MessageRules.malformed("RFC 9113, 8.1.1", "the content does not have the content-length")
        try streamError(progress.stream, fault, now)
    }

    private mutating func deliver(
        _ content: Range<Int>, _ index: Int, _ progress: DataProgress, isEnd: Bool
    ) throws(Fault) -> Event? {
        let stream = progress.stream
        let endStream = isEnd && progress.endStream
        let isHeld = streams.update(at: index) { stream in
            if endStream { stream.flags.insert(.remoteEnded) }
            if stream.flags.contains(.ignoresContent) { return true }
            guard stream.flags.contains(.isPaused) else {
                stream.receiveWindow.consume(content.count)
                return false
            }
            // At most the window.
            // fits: 32 bits, and a frame's length
            stream.unconsumed = Int32(clamping: Int(stream.unconsumed) + content.count)
            return true
        }
        if endStream {
            closeIfEnded(index, stream)
        } else if isEnd, isHeld == false {
            // Only at a frame's end, so that what is sent does not depend on how the bytes arrive.
            try openWindow(index, stream)
        }
        return content.isEmpty && !endStream ? nil : .data(stream, content, endStream: endStream)
    }

    /// Sends WINDOW_UPDATE for a stream if it is due (RFC 9113, 6.9).
    mutating func openWindow(_ index: Int, _ stream: StreamID) throws(Fault) {
        let size = local.inForce.streamWindowBytes
        guard let due = streams[index].receiveWindow.increment(size: size) else { return }
        try answer { $0.windowUpdate(stream, by: due) }
    }
}
