import Delivery
import Foundation
import Notifications
import Trust

/// The authority and the token keys as they are kept: made once, by whichever node comes first.
struct SharedSecrets {
    let authority: CertificateAuthority
    let tokenKeys: TokenKeyRotation

    /// Reads them from the store, or makes them at the first start.
    static func load(from secrets: any Secrets, now: Timestamp) async throws(ServiceError) -> SharedSecrets {
        do {
            var random = SystemRandomNumberGenerator()
            let authority: CertificateAuthority
            if let kept = try await secrets.secret(.authority) {
                authority = try CertificateAuthority(secrets: try decode(kept))
            } else {
                let fresh = try CertificateAuthority.create(now: Double(now.milliseconds) / 1000, using: &random)
                let kept = try await secrets.keep(try encode(fresh.secrets), as: .authority)
                authority = try CertificateAuthority(secrets: try decode(kept))
            }
            return SharedSecrets(authority: authority, tokenKeys: try await TokenKeyRotation.load(from: secrets))
        } catch {
            if let error = error as? ServiceError { throw error }
            throw ServiceError(.trust, "The keys of this service cannot be read: \(error)")
        }
    }

    private struct Kept: Codable {
        struct Issuer: Codable {
            var certificate: String
            var key: String
        }
        var root: Issuer
        var servers: Issuer
        var providers: Issuer
        var devices: Issuer
    }

    private static func encode(_ secrets: AuthoritySecrets) throws -> [UInt8] {
        func kept(_ issuer: AuthoritySecrets.Issuer) -> Kept.Issuer {
            Kept.Issuer(certificate: issuer.certificatePEM, key: issuer.keyPEM)
        }
        let all = Kept(
            root: kept(secrets.root), servers: kept(secrets.servers), providers: kept(secrets.providers),
            devices: kept(secrets.devices))
        return Array(try JSONEncoder().encode(all))
    }

    private static func decode(_ bytes: [UInt8]) throws -> AuthoritySecrets {
        func issuer(_ kept: Kept.Issuer) -> AuthoritySecrets.Issuer {
            AuthoritySecrets.Issuer(certificatePEM: kept.certificate, keyPEM: kept.key)
        }
        let all = try JSONDecoder().decode(Kept.self, from: Data(bytes))
        return AuthoritySecrets(
            root: issuer(all.root), servers: issuer(all.servers), providers: issuer(all.providers),
            devices: issuer(all.devices))
    }
}

extension SecretName {
    fileprivate static let authority = SecretName(known: "authority.json")
}
