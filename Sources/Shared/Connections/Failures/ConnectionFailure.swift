import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// The reason why a connection failed or could not be prepared, in words for a person, without the libraries' types and
/// file names.
package enum ConnectionFailure {
    package static func cause(of error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError:
            if let first = error.connectionErrors.first { return cause(of: first.error) }
            return "the name \(error.host) is not known"
        case let error as SocketAddressError.UnknownHost:
            return "the name \(error.host) is not known"
        case let error as IOError:
            return String(cString: strerror(error.errnoCode))
        case let error as ChannelError:
            if case .connectTimeout = error { return "it did not answer in time" }
            return "\(error)"
        case NIOSSLError.handshakeFailed(let error):
            return handshake("\(error)")
        case NIOSSLError.failedToLoadCertificate:
            return noCertificate
        case NIOSSLError.failedToLoadPrivateKey:
            return "there is no private key in PEM that can be used"
        case NIOSSLError.noSuchFilesystemObject:
            return String(cString: strerror(ENOENT))
        default:
            return file(error) ?? tls("\(error)")
        }
    }

    /// The system's text for a file that cannot be read or written; nil if the error is not about a file.
    package static func file(_ error: any Error) -> String? {
        let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        if let underlying, underlying.domain == NSPOSIXErrorDomain {
            return String(cString: strerror(Int32(clamping: underlying.code)))
        }
        switch (error as? CocoaError)?.code {
        case .fileNoSuchFile, .fileReadNoSuchFile: return String(cString: strerror(ENOENT))
        case .fileReadNoPermission, .fileWriteNoPermission: return String(cString: strerror(EACCES))
        case .fileWriteOutOfSpace: return String(cString: strerror(ENOSPC))
        default: return nil
        }
    }

    /// Why a file could not be used: the system's text if there is one.
    package static func ofFile(_ error: any Error) -> String { file(error) ?? error.localizedDescription }

    /// The text for a peer that ends the connection before TLS has begun.
    package static let endedInHandshake = "the other side ended the connection during the TLS handshake"

    private static let noCertificate = "there is no certificate in PEM"

    private static func handshake(_ text: String) -> String {
        text.contains("OPENSSL_internal:") ? tls(text) : endedInHandshake
    }

    /// BoringSSL's name of the error, such as CERTIFICATE_VERIFY_FAILED, without the place in its source.
    private static func tls(_ text: String) -> String {
        guard let start = text.range(of: "OPENSSL_internal:") else {
            return text.contains("unknownError([])") ? "TLS: no reason given" : text
        }
        let word = text[start.upperBound...].prefix {
            $0.isASCII && ($0.isUppercase || $0.isNumber || $0 == "_")
        }
        switch word {
        case "NO_CERTIFICATE_OR_CRL_FOUND": return noCertificate
        case "KEY_VALUES_MISMATCH": return "the private key does not belong to the certificate"
        default: return "\(tlsPrefix)\(word)"
        }
    }

    private static let tlsPrefix = "TLS: "

    /// BoringSSL's name of the error in a cause of ``cause(of:)``; nil if the cause has none.
    static func tlsName(_ cause: String) -> Substring? {
        guard cause.hasPrefix(tlsPrefix) else { return nil }
        let name = cause.dropFirst(tlsPrefix.count)
        return name.contains(" ") ? nil : name
    }

    /// The name in RFC 8446, 6, of the alert that the other side sent; nil if a cause of ``cause(of:)`` has none.
    static func alert(_ cause: String) -> String? {
        guard let name = tlsName(cause) else { return nil }
        // BoringSSL names an alert after the version of the protocol that had it first.
        for prefix in ["TLSV1_ALERT_", "SSLV3_ALERT_", "TLSV1_"] where name.hasPrefix(prefix) {
            return name.dropFirst(prefix.count).lowercased()
        }
        return nil
    }
}
