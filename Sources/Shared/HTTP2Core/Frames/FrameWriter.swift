/// Writes frames (RFC 9113, 4.1 and 6) to the end of an array. Reserved bits and unused flags are zero.
struct FrameWriter {
    /// The bytes that are to be sent.
    var bytes: [UInt8] = []

    mutating func head(length: Int, type: UInt8, flags: UInt8 = 0, stream: StreamID) {
        bytes.append(uint32: UInt32(truncatingIfNeeded: length) << 8 | UInt32(type))  // fits: a byte
        bytes.append(flags)
        bytes.append(uint32: stream.rawValue & StreamID.last.rawValue)
    }

    /// RFC 9113, 6.1. Padding is never written.
    mutating func data(_ content: Span<UInt8>, endStream: Bool, stream: StreamID) {
        head(
            length: content.count, type: FrameType.data, flags: endStream ? FrameFlag.endStream : 0, stream: stream)
        bytes.append(copying: content)
    }

    /// RFC 9113, 6.2 and 6.10: a field block, in as many frames as it needs, with no other frame between them.
    mutating func fields(_ block: Span<UInt8>, endStream: Bool, stream: StreamID, maxFrameBytes: Int) {
        var sent = min(block.count, maxFrameBytes)
        var flags = endStream ? FrameFlag.endStream : 0
        if sent == block.count { flags |= FrameFlag.endHeaders }
        head(length: sent, type: FrameType.headers, flags: flags, stream: stream)
        bytes.append(copying: block.extracting(..<sent))
        while sent < block.count {
            let count = min(block.count - sent, maxFrameBytes)
            let isLast = sent + count == block.count
            head(
                length: count, type: FrameType.continuation, flags: isLast ? FrameFlag.endHeaders : 0, stream: stream)
            bytes.append(copying: block.extracting(sent..<sent + count))
            sent += count
        }
    }

    /// RFC 9113, 6.4.
    mutating func reset(_ stream: StreamID, _ code: ErrorCode) {
        head(length: 4, type: FrameType.rstStream, stream: stream)
        bytes.append(uint32: code.rawValue)
    }

    /// RFC 9113, 6.5.
    mutating func settings(_ settings: [(Setting, UInt32)]) {
        head(length: settings.count * Setting.byteCount, type: FrameType.settings, stream: .connection)
        for (setting, value) in settings {
            bytes.append(uint16: setting.rawValue)
            bytes.append(uint32: value)
        }
    }

    /// RFC 9113, 6.5.3.
    mutating func settingsAcknowledgement() {
        head(length: 0, type: FrameType.settings, flags: FrameFlag.acknowledge, stream: .connection)
    }

    /// RFC 9113, 6.7.
    mutating func ping(_ payload: UInt64, isAcknowledgement: Bool) {
        head(
            length: 8, type: FrameType.ping, flags: isAcknowledgement ? FrameFlag.acknowledge : 0,
            stream: .connection)
        bytes.append(uint32: UInt32(truncatingIfNeeded: payload >> 32))
        bytes.append(uint32: UInt32(truncatingIfNeeded: payload))
    }

    /// The most debug data of a GOAWAY, so that it fits into a frame that every peer accepts (RFC 9113, 4.2).
    static let maxDebugDataBytes = 16_384 - 8

    /// RFC 9113, 6.8. Debug data beyond the limit is cut off.
    mutating func goAway(lastStream: StreamID, _ code: ErrorCode, debugData: [UInt8]) {
        let debugData = debugData.prefix(Self.maxDebugDataBytes)
        head(length: 8 + debugData.count, type: FrameType.goAway, stream: .connection)
        bytes.append(uint32: lastStream.rawValue)
        bytes.append(uint32: code.rawValue)
        bytes.append(contentsOf: debugData)
    }

    /// RFC 9113, 6.9. The increment is 1 or more.
    mutating func windowUpdate(_ stream: StreamID, by increment: Int) {
        head(length: 4, type: FrameType.windowUpdate, stream: stream)
        bytes.append(uint32: UInt32(clamping: increment))
    }
}
