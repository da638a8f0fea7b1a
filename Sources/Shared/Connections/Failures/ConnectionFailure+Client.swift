import NIOSSL

// What a client says about a server that it has no connection to.
extension ConnectionFailure {
    /// The server's certificate is for other names than the one that the client used.
    package static let otherName = "the server's certificate is for other names"
    /// The server's certificate cannot be trusted.
    package static let untrusted =
        "the server's certificate has expired, or is not from an authority that is trusted here"
    package static let noTLS = "what listens there does not speak TLS"

    /// The reason why a client has no connection, in the words of the client. If TLS has failed, they say what is wrong on which
    /// side, with BoringSSL's name of the error in parentheses.
    package static func clientCause(of error: any Error) -> String {
        if let error = error as? NIOSSLExtraError, error == .failedToValidateHostname { return otherName }
        let cause = cause(of: error)
        guard let name = tlsName(cause) else { return cause }
        return "\(words(name)) (\(name))"
    }

    private static func words(_ name: Substring) -> String {
        switch name {
        case "CERTIFICATE_VERIFY_FAILED": untrusted
        case "WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST": noTLS
        case _ where refusesCertificate(String(name)):
            "the server does not accept this side's certificate, or requires one"
        default: "the TLS handshake failed"
        }
    }

    /// Whether a cause is a TLS alert that refuses a client's certificate (RFC 8446, 6.2).
    package static func refusesCertificate(_ cause: String) -> Bool {
        cause.contains("ALERT") && certificateAlerts.contains(where: cause.contains)
    }

    /// These alerts in BoringSSL's spelling.
    private static let certificateAlerts = [
        "BAD_CERTIFICATE", "UNSUPPORTED_CERTIFICATE", "CERTIFICATE_REVOKED", "CERTIFICATE_EXPIRED",
        "CERTIFICATE_UNKNOWN", "UNKNOWN_CA", "ACCESS_DENIED", "CERTIFICATE_REQUIRED", "DECRYPT_ERROR",
    ]
}
