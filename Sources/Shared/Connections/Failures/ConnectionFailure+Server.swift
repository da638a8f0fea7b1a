// What a server says about a client that it has no connection to.
extension ConnectionFailure {
    /// The reason why a handshake failed, in the words of the server. If the client made a mistake that is common, they say which,
    /// with BoringSSL's name of the error in parentheses.
    /// - Parameter cause: of ``cause(of:)``.
    package static func serverCause(_ cause: String) -> String {
        guard let name = tlsName(cause), let words = serverWords(name) else { return cause }
        return "\(words) (\(name))"
    }

    private static func serverWords(_ name: Substring) -> String? {
        switch name {
        case "HTTP_REQUEST": "the client speaks HTTP without TLS: its URL has to begin with https"
        case "WRONG_VERSION_NUMBER": "what the client sent is not TLS"
        case "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the client has no certificate, and this port requires one"
        case "UNSUPPORTED_PROTOCOL": "the client knows no version of TLS that is accepted here"
        case "NO_SHARED_CIPHER": "the client knows no cipher that is accepted here"
        default: nil
        }
    }
}
