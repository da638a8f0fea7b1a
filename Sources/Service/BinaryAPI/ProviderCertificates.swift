package import Connections
import Credentials
package import Delivery
package import Notifications
package import Trust

/// Decides which certificates may open a connection of one environment, and whether they are still valid.
package struct ProviderCertificates: Sendable {
    package let environment: Environment
    private let authority: CertificateAuthority
    let accounts: any Accounts
    private let clock: @Sendable () -> Timestamp
    /// Makes what the service does not know; nil unless `--accept any` is set.
    private let firstSight: (any FirstSight)?
    /// The addresses besides loopback from which ``firstSight`` is used.
    private let acceptAnyFrom: [AddressRange]

    package init(
        environment: Environment,
        authority: CertificateAuthority,
        accounts: any Accounts,
        firstSight: (any FirstSight)? = nil,
        acceptAnyFrom: [AddressRange] = [],
        clock: @escaping @Sendable () -> Timestamp,
    ) {
        self.environment = environment
        self.authority = authority
        self.accounts = accounts
        self.clock = clock
        self.firstSight = firstSight
        self.acceptAnyFrom = acceptAnyFrom
    }

    /// What makes unknown teams, apps and devices for a client; nil if the client's address does not allow it.
    func firstSight(for accepted: AcceptedConnection) -> (any FirstSight)? {
        guard let firstSight, accepted.isLocal(or: acceptAnyFrom) else { return nil }
        return firstSight
    }

    /// Whether a connection may be opened: a certificate of another authority is accepted from some addresses only.
    func mayOpen(_ accepted: AcceptedConnection, _ identity: ProviderIdentity) -> Bool {
        identity.foreignTeam == nil || firstSight(for: accepted) != nil
    }

    /// Checks a client's certificates during the TLS handshake. The binary API has no answer that could refuse them
    /// later.
    /// - Parameter chain: the certificates in DER, the client's own first. None of them was verified yet.
    func admit(_ chain: [[UInt8]]) throws(TrustError) -> ProviderIdentity {
        let provider: ProviderIdentity
        do throws(TrustError) {
            provider = try authority.verifyProvider(chain: chain, now: now)
        } catch {
            guard firstSight != nil, error.code == .untrusted else { throw error }
            provider = try .foreign(chain: chain, now: now)
        }
        do throws(Rejection) {
            try check(provider, accounts.current)
        } catch {
            throw TrustError(Self.code(of: error), error.detail ?? error.reason.rawValue)
        }
        return provider
    }

    /// The kind of a refusal, which decides about the alert (RFC 8446, 6.2).
    private static func code(of rejection: Rejection) -> TrustError.Code {
        switch rejection.reason {
        case .badCertificate: .revoked
        case .badCertificateEnvironment: .wrongUse
        default: .failed
        }
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
        let isTrusted = identity.foreignTeam == nil ? accounts.trusts(identity.serial) : firstSight != nil
        try identity.check(environment: environment, isTrusted: isTrusted, now: now)
    }

    /// The team of a client's certificate; nil if there is none.
    func team(of identity: ProviderIdentity) -> TeamID? {
        accounts.current.team(ofCertificate: identity.serial, uid: identity.uid, foreignTeam: identity.foreignTeam)
    }

    private var now: Double { Double(clock().milliseconds) / 1000 }
}
