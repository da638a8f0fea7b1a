/// An error code as RST_STREAM and GOAWAY carry it (RFC 9113, 7). Unknown codes are kept as they came, and have no
/// special effect.
package struct ErrorCode: Hashable, Sendable, CustomStringConvertible {
    /// The 32-bit number of the frame.
    package let rawValue: UInt32

    package init(_ rawValue: UInt32) { self.rawValue = rawValue }

    package static let noError = ErrorCode(0x0)
    package static let protocolError = ErrorCode(0x1)
    package static let internalError = ErrorCode(0x2)
    package static let flowControlError = ErrorCode(0x3)
    package static let settingsTimeout = ErrorCode(0x4)
    package static let streamClosed = ErrorCode(0x5)
    package static let frameSizeError = ErrorCode(0x6)
    package static let refusedStream = ErrorCode(0x7)
    package static let cancel = ErrorCode(0x8)
    package static let compressionError = ErrorCode(0x9)
    package static let connectError = ErrorCode(0xa)
    package static let enhanceYourCalm = ErrorCode(0xb)
    package static let inadequateSecurity = ErrorCode(0xc)
    package static let http11Required = ErrorCode(0xd)

    private static let names = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    /// The name RFC 9113 gives the code, or its number in hexadecimal.
    package var description: String {
        rawValue < UInt32(Self.names.count) ? Self.names[Int(rawValue)] : "0x" + String(rawValue, radix: 16)
    }
}
