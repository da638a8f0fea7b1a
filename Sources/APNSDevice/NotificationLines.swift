import HTTP2
import NIOCore
import Notifications

/// The notifications of one stream, as they come. Ends with ``DeviceError/Code/takenOver`` when another connection of
/// the device opens a stream, and otherwise when the connection does.
package struct NotificationLines: AsyncSequence, Sendable {
    package typealias Element = ReceivedNotification

    /// In bytes: the largest payload, and the largest of everything around it.
    static let maximumLineBytes = 16_384

    private let body: HTTP2StreamingResponse.Body

    init(_ body: HTTP2StreamingResponse.Body) { self.body = body }

    package func makeAsyncIterator() -> Iterator { Iterator(pieces: body.makeAsyncIterator()) }

    package struct Iterator: AsyncIteratorProtocol {
        var pieces: HTTP2StreamingResponse.Body.AsyncIterator
        private var buffer = ByteBuffer()

        init(pieces: HTTP2StreamingResponse.Body.AsyncIterator) { self.pieces = pieces }

        @concurrent package mutating func next() async throws -> ReceivedNotification? {
            while true {
                while let line = nextLine() {
                    guard !line.isEmpty else { continue }  // A keep-alive.
                    guard let object = JSONObject(line) else {
                        throw DeviceError(.badResponse, "The courier sent a line that is not JSON.")
                    }
                    if let notification = ReceivedNotification(object) { return notification }
                    if let end = object[plain: "end"] { throw Self.error(end) }
                    // A line of a kind that came later than this device: not for it.
                }
                guard buffer.readableBytes <= NotificationLines.maximumLineBytes else {
                    throw DeviceError(.badResponse, "The courier sent a line that does not end.")
                }
                guard var piece = try await pieces.next() else { return nil }
                buffer.discardReadBytes()
                buffer.writeBuffer(&piece)
            }
        }

        private mutating func nextLine() -> [UInt8]? {
            guard let end = buffer.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            let line = buffer.readBytes(length: end - buffer.readerIndex)
            buffer.moveReaderIndex(forwardBy: 1)
            return line
        }

        private static func error(_ end: String) -> DeviceError {
            if end == "takenOver" {
                return DeviceError(.takenOver, "Another connection of this device has taken over.")
            }
            return DeviceError(.disconnected, "The courier ended the stream: \(end).")
        }
    }
}
