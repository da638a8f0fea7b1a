/// An error code as RST_STREAM and GOAWAY carry it (RFC 9113, 7). Unknown codes are kept as they came, and have no
/// special effect.
package struct ErrorCode: Hashable, Sendable, CustomStringConvertible {
    /// The 32-bit number of the frame.
    package let rawValue: UInt32

    package init(_ rawValue: UInt32) { self.rawValue = rawValue }

    /// Not an error: a graceful end, or an answer given before the request's body ended (RFC 9113, 8.1).
    package static let noError = ErrorCode(0x0)
    /// The peer violated the protocol, and no other code is more specific.
    package static let protocolError = ErrorCode(0x1)
    /// A fault on the sender's own side.
    package static let internalError = ErrorCode(0x2)
    /// The peer sent more than its flow-control window.
    package static let flowControlError = ErrorCode(0x3)
    /// SETTINGS were not acknowledged in time.
    package static let settingsTimeout = ErrorCode(0x4)
    /// A frame came on a stream that was half-closed.
    package static let streamClosed = ErrorCode(0x5)
    /// A frame had an impossible size.
    package static let frameSizeError = ErrorCode(0x6)
    /// The stream was not processed at all: the request can be sent again (RFC 9113, 8.7).
    package static let refusedStream = ErrorCode(0x7)
    /// The stream is no longer needed.
    package static let cancel = ErrorCode(0x8)
    /// The header compression state is lost.
    package static let compressionError = ErrorCode(0x9)
    /// The connection behind a CONNECT request broke.
    package static let connectError = ErrorCode(0xa)
    /// The peer causes, or may cause, too much load.
    package static let enhanceYourCalm = ErrorCode(0xb)
    /// The connection's TLS does not meet the minimum (RFC 9113, 9.2).
    package static let inadequateSecurity = ErrorCode(0xc)
    /// The peer should use HTTP/1.1 instead.
    package static let http11Required = ErrorCode(0xd)

    /// The names of RFC 9113. The index of a name is its code.
    package static let names = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    /// The name RFC 9113 gives the code, or its number in hexadecimal.
    package var description: String {
        // fits: 32 bits
        rawValue < UInt32(Self.names.count) ? Self.names[Int(rawValue)] : "0x" + String(rawValue, radix: 16)
    }
}
