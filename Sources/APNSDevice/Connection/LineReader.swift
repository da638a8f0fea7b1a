import NIOCore
import Notifications

/// Cuts the stream of notifications into lines, and reads them.
struct LineReader {
    /// In bytes: the largest payload, and the largest of everything around it.
    static let maximumLineBytes = 16_384

    /// What one line is.
    enum Line: Hashable {
        case notification(ReceivedNotification)
        /// A notification that cannot be shown: it is acknowledged, or it would come again for ever.
        case unreadable(sending: UInt64)
        /// The courier ends the stream, and why.
        case end(String)
        /// A keep-alive, or a kind that came later than this device.
        case nothing
    }

    private var partial: [UInt8] = []

    /// Takes bytes, and tells of each line that they complete, in order.
    /// - Throws: where the courier sends something else than lines of JSON; the stream is of no use then.
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
