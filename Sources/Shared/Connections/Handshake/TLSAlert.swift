import NIOCore

/// A fatal alert that a listener sends itself, because NIOSSL cannot (decision 0086).
package enum TLSAlert: UInt8, Sendable {
    // The numbers of RFC 8446, 6.
    case unexpectedMessage = 10
    case badCertificate = 42
    case unsupportedCertificate = 43
    case certificateRevoked = 44
    case certificateExpired = 45
    case certificateUnknown = 46
    case unknownAuthority = 48
    case noApplicationProtocol = 120

    /// The alert in a record of its own that is not encrypted.
    var record: [UInt8] { Self.recordStart + [rawValue] }

    /// The beginning of a record with one fatal alert. The version of a record has no meaning (RFC 8446, 5.1); BoringSSL
    /// writes this one for TLS 1.2.
    fileprivate static let recordStart: [UInt8] = [21, 3, 3, 0, 2, 2]
}

/// Gives a client the reason why its certificate is refused, with TLS 1.2: in place of the alert `certificate_unknown`,
/// which NIOSSL sends for every reason. It is before the TLS handler, and is added when a certificate was refused.
///
/// With TLS 1.3 the alert is encrypted, so it stays as it is.
final class CertificateAlertWriter: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let alert: TLSAlert

    init(_ alert: TLSAlert) { self.alert = alert }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var bytes = unwrapOutboundIn(data)
        let usual = TLSAlert.certificateUnknown.record
        // The alert is the last thing that is written, perhaps behind other records.
        if bytes.readableBytesView.suffix(usual.count).elementsEqual(usual) {
            bytes.setInteger(alert.rawValue, at: bytes.writerIndex - 1)  // fits: an index of the buffer
        }
        context.write(wrapOutboundOut(bytes), promise: promise)
    }
}
