import NIOCore
import Notifications

/// Splits the stream of notifications into lines and parses them.
struct LineReader {
    /// The largest line, in bytes: the largest payload and the largest fields around it.
    static let maximumLineBytes = 16_384

    /// The meaning of a line.
    enum Line: Hashable {
        case notification(ReceivedNotification)
        /// A notification that cannot be parsed. It is acknowledged, because the courier would otherwise send it
        /// again and again.
        case unreadable(sending: UInt64)
        /// The courier ends the stream, for this reason.
        case end(String)
        /// A keep-alive line, or a kind of line that this device does not know.
        case nothing
    }

    private var partial: [UInt8] = []

    /// Takes bytes and calls `body` for each complete line, in order.
    /// - Throws: ``DeviceError/Code/badResponse`` if the courier sends something other than lines of JSON. The
    ///   stream cannot be used afterwards.
    mutating func read(_ bytes: Span<UInt8>, _ body: (Line) -> Void) throws(DeviceError) {
        var start = 0
        for index in 0..<bytes.count where bytes[index] == UInt8(ascii: "\n") {
            let line: Line
            if partial.isEmpty {
                line = try Self.line(Array(bytes.extracting(start..<index)))
            } else {
                partial.append(bytes.extracting(start..<index))
                line = try Self.line(partial)
                partial = []
            }
            body(line)
            start = index + 1
        }
        guard partial.count + bytes.count - start <= Self.maximumLineBytes else {
            throw DeviceError(.badResponse, "The courier sent a line that does not end.")
        }
        if start < bytes.count { partial.append(bytes.extracting(start..<bytes.count)) }
    }

    private static func line(_ text: [UInt8]) throws(DeviceError) -> Line {
        guard !text.isEmpty else { return .nothing }
        guard text.count <= maximumLineBytes, let object = JSONObject(text) else {
            throw DeviceError(.badResponse, "The courier sent a line that is not a JSON dictionary.")
        }
        if let notification = ReceivedNotification(object) { return .notification(notification) }
        if let sending = object[number: "sending"] { return .unreadable(sending: sending) }
        return object[text: "end"].map { .end($0) } ?? .nothing
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { append(contentsOf: $0) }
    }

    fileprivate init(_ bytes: Span<UInt8>) {
        self = bytes.withUnsafeBufferPointer { [UInt8]($0) }
    }
}
