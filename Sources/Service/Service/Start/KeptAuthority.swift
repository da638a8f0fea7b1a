import Foundation
import Notifications
import Storage
import Trust

/// The certificate authority in the form in which a store keeps it: as JSON.
struct KeptAuthority: Codable {
    struct Issuer: Codable {
        var certificate: String
        var key: String?

        init(_ issuer: AuthoritySecrets.Issuer) {
            certificate = issuer.certificatePEM
            key = issuer.keyPEM
        }

        var issuer: AuthoritySecrets.Issuer { AuthoritySecrets.Issuer(certificatePEM: certificate, keyPEM: key) }
    }

    var root: Issuer
    var servers: Issuer
    var providers: Issuer
    var devices: Issuer
    /// The issuer of administrators' certificates. Nil if the authority was stored before there were such
    /// certificates. A stored secret is never changed, so the issuer is then stored as a second secret.
    var administrators: Issuer?

    private init(_ secrets: AuthoritySecrets) {
        root = Issuer(secrets.root)
        servers = Issuer(secrets.servers)
        providers = Issuer(secrets.providers)
        devices = Issuer(secrets.devices)
        administrators = Issuer(secrets.administrators)
    }

    private func secrets(_ administrators: Issuer) -> AuthoritySecrets {
        AuthoritySecrets(
            root: root.issuer, servers: servers.issuer, providers: providers.issuer, devices: devices.issuer,
            administrators: administrators.issuer)
    }

    /// Stores a new authority, unless one is stored already.
    /// - Returns: The stored authority.
    static func keep(
        _ authority: CertificateAuthority,
        in secrets: any Secrets,
        under externalRoot: ExternalRoot?,
        now: Double,
    ) async throws -> CertificateAuthority {
        let made = Array(try JSONValue(encoding: KeptAuthority(authority.secrets)).text.utf8)
        return try await load(
            try await secrets.keep(made, as: .authority), from: secrets, under: externalRoot, now: now)
    }

    /// Reads the stored authority, and adds the issuer of administrators if it is missing.
    /// - Parameter externalRoot: the operator's root with its key. It is used to make what the stored authority lacks.
    static func load(
        _ kept: [UInt8],
        from secrets: any Secrets,
        under externalRoot: ExternalRoot?,
        now: Double,
    ) async throws -> CertificateAuthority {
        let authority: KeptAuthority = try read(kept, .authority)
        let administrators: Issuer
        if let present = authority.administrators {
            administrators = present
        } else if let added = try await secrets.secret(.administrators) {
            administrators = try read(added, .administrators)
        } else {
            // The issuer may also be missing because its secret was lost. Then administrators need new certificates.
            administrators = try await authority.addAdministrators(to: secrets, under: externalRoot, now: now)
        }
        return try CertificateAuthority(secrets: authority.secrets(administrators))
    }

    private func addAdministrators(
        to secrets: any Secrets,
        under externalRoot: ExternalRoot?,
        now: Double,
    ) async throws -> Issuer {
        guard root.key != nil || externalRoot != nil else {
            throw ServiceError(
                .trust,
                "The secret \(SecretName.authority.rawValue) was made before administrators had certificates, and the key of "
                    + "its root is not kept: start once with authority.certificate and authority.key.")
        }
        var random = SystemRandomNumberGenerator()
        let made = Issuer(
            try CertificateAuthority.makeAdministrators(
                under: root.key == nil ? externalRoot : nil, or: root.issuer, now: now, using: &random))
        // Check before storing: the operator may have given another root than that of the other certificates.
        _ = try CertificateAuthority(secrets: self.secrets(made))
        let kept = try await secrets.keep(Array(try JSONValue(encoding: made).text.utf8), as: .administrators)
        return try Self.read(kept, .administrators)
    }

    private static func read<Value: Decodable>(_ bytes: [UInt8], _ name: SecretName) throws(ServiceError) -> Value {
        do {
            return try JSONValue.decode(bytes)
        } catch {
            throw ServiceError(
                .trust,
                "The secret \(name.rawValue) is damaged, \(fault(error)): restore it from a backup, or start with a new "
                    + "folder.")
        }
    }

    /// Says what is wrong with the stored authority, without quoting it.
    private static func fault(_ error: any Error) -> String {
        func name(_ path: [any CodingKey]) -> String { path.map(\.stringValue).joined(separator: ".") }
        return switch error {
        case DecodingError.keyNotFound(let key, let context): "it has no \(name(context.codingPath + [key]))"
        case DecodingError.typeMismatch(_, let context) where !context.codingPath.isEmpty,
            DecodingError.valueNotFound(_, let context) where !context.codingPath.isEmpty:
            "its \(name(context.codingPath)) has an invalid value"
        default: "it is not a JSON dictionary"
        }
    }
}

extension SecretName {
    static let authority = SecretName(known: "authority.json")
    fileprivate static let administrators = SecretName(known: "administrators.json")
}
