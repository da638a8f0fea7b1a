import NIOCore

/// Finds the alert with which a client ends a TLS handshake without encryption.
///
/// In TLS 1.3 a client should encrypt it, but OpenSSL does not. BoringSSL then reports a damaged record in place of the
/// alert.
final class AlertReader: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The code of the fatal alert (RFC 8446, 6); nil if there was none.
    private(set) var code: UInt8?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        // A client sends few and small records in a handshake, so a read begins with a record. If one does not, the alert
        // may not be found.
        while let (kind, _, length) = bytes.readMultipleIntegers(as: (UInt8, UInt16, UInt16).self),
            var record = bytes.readSlice(length: Int(length))  // fits: 16 bits
        {
            let (alert, fatal): (UInt8, UInt8) = (21, 2)
            if kind == alert, length == 2, record.readInteger(as: UInt8.self) == fatal {
                code = record.readInteger(as: UInt8.self)
            }
        }
        context.fireChannelRead(data)
    }
}

extension HandshakeEnd {
    /// - Parameter code: of a fatal alert that the client sent.
    init(alert code: UInt8) { self = .alert(Self.names[code] ?? "alert \(code)") }

    /// The names of alerts in RFC 8446, 6.2, and RFC 5246, 7.2.2.
    private static let names: [UInt8: String] = [
        10: "unexpected_message", 20: "bad_record_mac", 22: "record_overflow", 40: "handshake_failure",
        42: "bad_certificate", 43: "unsupported_certificate", 44: "certificate_revoked", 45: "certificate_expired",
        46: "certificate_unknown", 47: "illegal_parameter", 48: "unknown_ca", 49: "access_denied", 50: "decode_error",
        51: "decrypt_error", 70: "protocol_version", 71: "insufficient_security", 80: "internal_error",
        86: "inappropriate_fallback", 90: "user_canceled", 109: "missing_extension", 110: "unsupported_extension",
        112: "unrecognized_name", 113: "bad_certificate_status_response", 115: "unknown_psk_identity",
        116: "certificate_required", 120: "no_application_protocol",
    ]
}
