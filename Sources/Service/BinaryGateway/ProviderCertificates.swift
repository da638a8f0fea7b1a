package import Delivery
package import Notifications
package import Trust

/// Decides which certificates may open a connection of one environment, and whether they are still valid.
package struct ProviderCertificates: Sendable {
    package let environment: Environment
    private let authority: CertificateAuthority
    let accounts: any Accounts
    private let clock: @Sendable () -> Timestamp

    package init(
        environment: Environment,
        authority: CertificateAuthority,
        accounts: any Accounts,
        clock: @escaping @Sendable () -> Timestamp,
    ) {
        self.environment = environment
        self.authority = authority
        self.accounts = accounts
        self.clock = clock
    }

    /// Checks a client's certificates during the TLS handshake. The binary API has no answer that could refuse them
    /// later.
    /// - Parameter chain: the certificates in DER, the client's own first. None of them was verified yet.
    func admit(_ chain: [[UInt8]]) throws(TrustError) -> ProviderIdentity {
        let provider = try authority.verifyProvider(chain: chain, now: now)
        do throws(Rejection) {
            try check(provider, accounts.current)
        } catch {
            throw TrustError(.wrongUse, error.detail ?? error.reason.rawValue)
        }
        return provider
    }

    /// Whether a connection may continue. Its certificate may have expired or been revoked since the handshake.
    func areGood(_ identity: ProviderIdentity, _ accounts: AccountsSnapshot) -> Bool {
        do throws(Rejection) {
            try check(identity, accounts)
            return true
        } catch {
            return false
        }
    }

    private func check(_ identity: ProviderIdentity, _ accounts: AccountsSnapshot) throws(Rejection) {
        guard self.accounts.isCurrent else { throw .accountsNotCurrent }
        try identity.check(environment: environment, isTrusted: accounts.trusts(identity.serial), now: now)
    }

    private var now: Double { Double(clock().milliseconds) / 1000 }
}
