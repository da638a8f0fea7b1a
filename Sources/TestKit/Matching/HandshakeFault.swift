/// A fault that a rehearsal causes in the TLS handshake of a new connection.
package enum HandshakeFault: Sendable, Hashable {
    /// The service shows another certificate than its own.
    case certificate(Certificate)
    /// The service speaks only these versions of TLS.
    case versions([Version])
    case disturbance(Disturbance)

    package enum Certificate: String, Sendable, Hashable, CaseIterable {
        /// The chain leads to the other authority, which a client trusts only if somebody has told it to.
        case otherAuthority = "other-authority"
        case expired
        case notYetValid = "not-yet-valid"
        /// The certificate has none of the service's names.
        case wrongName = "wrong-name"
        /// The chain lacks the intermediate certificate.
        case incompleteChain = "incomplete-chain"
        /// The chain leads to the service's own root and to the other authority's.
        case crossSigned = "cross-signed"

        /// Whether a client that checks certificates accepts it, if it trusts the service's own authority only.
        package var isValid: Bool { self == .crossSigned }
    }

    /// The versions that the service speaks otherwise (Guide, 2.3.3).
    package enum Version: String, Sendable, Hashable, CaseIterable {
        case tls12 = "1.2"
        case tls13 = "1.3"
    }

    package enum Disturbance: String, Sendable, Hashable, CaseIterable {
        /// The service answers the client's first message late, after ``HandshakeFault/slowness``.
        case slow
        /// The service answers the client's first message with a TCP reset.
        case reset
        /// The service does not answer the client's first message.
        case hang
    }

    /// How late a slow handshake is: longer than any real one, and shorter than the usual timeouts of clients.
    package static let slowness = Duration.seconds(3)

    package var name: FaultName {
        switch self {
        case .certificate: .certificate
        case .versions: .tls
        case .disturbance: .handshake
        }
    }

    /// The fault in words: what the service did.
    package var description: String {
        switch self {
        case .certificate(let certificate): "certificate \(certificate.rawValue)"
        case .versions(let versions): "tls \(versions.map(\.rawValue).joined(separator: ", "))"
        case .disturbance(let disturbance): "handshake \(disturbance.rawValue)"
        }
    }
}
