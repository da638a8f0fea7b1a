package import Notifications
package import Trust

/// Judges the certificates that clients present to the API over TLS.
package struct AdministratorVerifier: Sendable {
    let authority: CertificateAuthority
    let clock: @Sendable () -> Timestamp

    package init(authority: CertificateAuthority, clock: @escaping @Sendable () -> Timestamp) {
        self.authority = authority
        self.clock = clock
    }

    /// - Parameter chain: DER, the client's own certificate first.
    func admit(_ chain: [[UInt8]]) throws -> AdministratorIdentity {
        let now = Double(clock().milliseconds) / 1000
        guard
            case .administrator(let identity) = try authority.verifyPeer(chain: chain, as: .administrator, now: now)
        else { throw TrustError(.wrongUse, "The certificate is not an administrator's.") }
        return identity
    }
}
