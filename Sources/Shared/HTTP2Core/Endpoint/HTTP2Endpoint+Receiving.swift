// Receiving: from bytes to frames (RFC 9113, 3.4 and 4).
extension HTTP2Endpoint {
    /// The client's preface (RFC 9113, 3.4).
    static let preface: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    private static let prefaceBytes: [UInt8] = {
        var bytes: [UInt8] = []
        bytes.append(literal: preface)
        return bytes
    }()

    /// Reads up to the next event, or a part of the bytes.
    mutating func read(_ bytes: Span<UInt8>, _ position: inout Int, _ now: UInt64) throws(Fault) -> Event? {
        switch reading {
        case .preface(let matched):
            try readPreface(bytes, &position, matched)
            return nil
        case .head:
            guard let head = readHead(bytes, &position) else { return nil }
            return try begin(head, bytes, &position, now)
        case .payload(let head):
            return try readPayload(head, bytes, &position, now)
        case .data(let progress):
            return try readData(progress, bytes, &position, now)
        case .skip(let rest):
            let count = min(rest, bytes.count - position)
            position += count
            reading = count == rest ? .head : .skip(rest - count)
            return nil
        }
    }

    /// RFC 9113, 3.4: the client's preface, byte for byte.
    private mutating func readPreface(_ bytes: Span<UInt8>, _ position: inout Int, _ matched: Int) throws(Fault) {
        var matched = matched
        while matched < Self.prefaceBytes.count, position < bytes.count {
            guard bytes[position] == Self.prefaceBytes[matched] else {
                throw Fault(.protocolError, "RFC 9113, 3.4", "the first bytes are not the client's preface")
            }
            position += 1
            matched += 1
        }
        reading = matched == Self.prefaceBytes.count ? .head : .preface(matched: matched)
    }

    /// Reads a head, which may come in parts.
    private mutating func readHead(_ bytes: Span<UInt8>, _ position: inout Int) -> FrameHead? {
        if pending.isEmpty, bytes.count - position >= FrameHead.byteCount {
            let head = FrameHead(bytes.extracting(position..<position + FrameHead.byteCount))
            position += FrameHead.byteCount
            return head
        }
        let count = min(FrameHead.byteCount - pending.count, bytes.count - position)
        pending.append(copying: bytes.extracting(position..<position + count))
        position += count
        guard pending.count == FrameHead.byteCount else { return nil }
        let head = FrameHead(pending.span)
        pending.removeAll(keepingCapacity: true)
        return head
    }

    /// Handles a head. What the head alone shows to be wrong ends the connection before the payload is kept.
    private mutating func begin(
        _ head: FrameHead, _ bytes: Span<UInt8>, _ position: inout Int, _ now: UInt64
    ) throws(Fault) -> Event? {
        try check(head)
        try checkOrder(head)
        switch head.type {
        case FrameType.data:
            return try beginData(head, bytes, &position, now)
        case FrameType.headers...FrameType.continuation:
            try checkKind(head)
            if head.type == FrameType.headers { fieldsBegan = now }
            reading = .payload(head)
            return try readPayload(head, bytes, &position, now)
        default:
            // RFC 9113, 4.1 and 5.5: frames of unknown types are discarded.
            try flood.countIdleFrame(at: now)
            try flood.countIgnored(FrameHead.byteCount + head.length, at: now)
            reading = head.length > 0 ? .skip(head.length) : .head
            return nil
        }
    }

    /// RFC 9113, 4.2. For some frames a stream error would do, but whoever sends such a frame did not read our
    /// SETTINGS.
    private mutating func check(_ head: FrameHead) throws(Fault) {
        guard head.length <= local.maxFrameBytes else {
            throw Fault(.frameSizeError, "RFC 9113, 4.2", "a frame exceeds SETTINGS_MAX_FRAME_SIZE")
        }
        guard state.hasReceivedSettings || head.type == FrameType.settings && !head.has(FrameFlag.acknowledge) else {
            throw Fault(.protocolError, "RFC 9113, 3.4", "the first frame is not SETTINGS")
        }
    }

    /// RFC 9113, 4.3, 6.2 and 6.10: a field block that is not complete is followed by CONTINUATION of its stream, and
    /// nothing else is. This is true for unknown frames as well (5.5).
    private mutating func checkOrder(_ head: FrameHead) throws(Fault) {
        let isContinuation = head.type == FrameType.continuation
        if let block {
            guard isContinuation, head.stream == block.stream else {
                throw Fault(.protocolError, "RFC 9113, 6.2", "another frame comes before the end of a field block")
            }
        } else if isContinuation {
            throw Fault(.protocolError, "RFC 9113, 6.10", "CONTINUATION does not follow an open field block")
        }
    }

    /// The rules for the stream and the length of each kind of frame.
    private mutating func checkKind(_ head: FrameHead) throws(Fault) {
        let isOfConnection = head.stream == .connection
        switch head.type {
        case FrameType.headers:
            guard !isOfConnection else {
                throw Fault(.protocolError, "RFC 9113, 6.2", "HEADERS has the stream 0")
            }
        case FrameType.priority:
            guard !isOfConnection else {
                throw Fault(.protocolError, "RFC 9113, 6.3", "PRIORITY has the stream 0")
            }
        case FrameType.rstStream:
            guard !isOfConnection else {
                throw Fault(.protocolError, "RFC 9113, 6.4", "RST_STREAM has the stream 0")
            }
            guard head.length == 4 else {
                throw Fault(.frameSizeError, "RFC 9113, 6.4", "RST_STREAM does not have 4 bytes")
            }
        case FrameType.settings:
            guard isOfConnection else {
                throw Fault(.protocolError, "RFC 9113, 6.5", "SETTINGS has another stream than 0")
            }
            let isAcknowledgement = head.has(FrameFlag.acknowledge)
            guard head.length % Setting.byteCount == 0, head.length == 0 || !isAcknowledgement else {
                throw Fault(.frameSizeError, "RFC 9113, 6.5", "SETTINGS has a wrong length")
            }
            guard head.length / Setting.byteCount <= limits.maxSettingsEntries else {
                throw Fault(flood: .settingsEntries)
            }
        case FrameType.pushPromise:
            // A client cannot push (RFC 9113, 8.4). A server must not, because our first SETTINGS forbid it (6.6), and
            // it gets them before the request that it would push for.
            throw Fault(.protocolError, role == .server ? "RFC 9113, 8.4" : "RFC 9113, 6.6", "PUSH_PROMISE came")
        case FrameType.ping:
            guard isOfConnection else {
                throw Fault(.protocolError, "RFC 9113, 6.7", "PING has another stream than 0")
            }
            guard head.length == 8 else {
                throw Fault(.frameSizeError, "RFC 9113, 6.7", "PING does not have 8 bytes")
            }
        case FrameType.goAway:
            guard isOfConnection else {
                throw Fault(.protocolError, "RFC 9113, 6.8", "GOAWAY has another stream than 0")
            }
            guard head.length >= 8 else {
                throw Fault(.frameSizeError, "RFC 9113, 4.2", "GOAWAY has fewer than 8 bytes")
            }
        case FrameType.windowUpdate:
            guard head.length == 4 else {
                throw Fault(.frameSizeError, "RFC 9113, 6.9", "WINDOW_UPDATE does not have 4 bytes")
            }
        default:
            // CONTINUATION: `checkOrder` has compared its stream.
            break
        }
    }

    /// Reads a payload, which may come in parts, and handles the frame when it is complete.
    private mutating func readPayload(
        _ head: FrameHead, _ bytes: Span<UInt8>, _ position: inout Int, _ now: UInt64
    ) throws(Fault) -> Event? {
        let available = bytes.count - position
        if pending.isEmpty, available >= head.length {
            let payload = bytes.extracting(position..<position + head.length)
            position += head.length
            reading = .head
            return try handle(head, payload, now)
        }
        let count = min(head.length - pending.count, available)  // fits: both are at most a frame's length
        pending.append(copying: bytes.extracting(position..<position + count))
        position += count
        guard pending.count == head.length else { return nil }
        // The payload must not be a member while the frame is handled, because that changes the endpoint.
        let payload = pending
        pending = []
        reading = .head
        return try handle(head, payload.span, now)
    }

    private mutating func handle(
        _ head: FrameHead, _ payload: Span<UInt8>, _ now: UInt64
    ) throws(Fault) -> Event? {
        switch head.type {
        case FrameType.headers: try handleHeaders(head, payload, now)
        case FrameType.continuation: try handleContinuation(head, payload, now)
        case FrameType.priority: try handlePriority(head, now)
        case FrameType.rstStream: try handleReset(head.stream, ErrorCode(payload.uint32(at: 0)), now)
        case FrameType.settings: try handleSettings(head, payload, now)
        case FrameType.ping: try handlePing(head, payload.uint64(at: 0), now)
        case FrameType.goAway: try handleGoAway(payload, now)
        case FrameType.windowUpdate: try handleWindowUpdate(head.stream, payload.uint32(at: 0), now)
        default: nil
        }
    }
}
