import Credentials
import Crypto
import Foundation
import Notifications
import SwiftASN1
import Trust
import X509

enum Fixture {
    /// The time of the Guide's example, in seconds since 1970.
    static let now: Double = 1_437_179_036
    static let day: Double = 86_400
    static let device = DeviceID(rawValue: 0x0123_4567_89ab_cdef)
    static let bundleID: BundleID = {
        guard let bundleID = BundleID(rawValue: "com.yourcompany.yourexampleapp") else {
            preconditionFailure("The guide's example is a bundle ID.")
        }
        return bundleID
    }()

    static func authority(now: Double = now) throws -> CertificateAuthority {
        var generator = SystemRandomNumberGenerator()
        return try CertificateAuthority.create(now: now, using: &generator)
    }

    static func request(_ key: P256.Signing.PrivateKey = P256.Signing.PrivateKey()) throws -> [UInt8] {
        Array(try SigningRequest.pem(for: key).utf8)
    }

    static func der(_ chainPEM: String) throws -> [[UInt8]] {
        try PEMDocument.parseMultiple(pemString: chainPEM).map(\.derBytes)
    }

    static func leaf(_ issued: IssuedCertificate) throws -> Certificate {
        try Certificate(derEncoded: der(issued.chainPEM)[0])
    }
}

extension CertificateAuthority {
    func deviceChain(
        request: [UInt8]? = nil,
        environment: Environment = .development,
        now: Double = Fixture.now,
    ) throws -> IssuedCertificate {
        var generator = SystemRandomNumberGenerator()
        return try issueDeviceCertificate(
            request: request ?? Fixture.request(), device: Fixture.device, environment: environment, now: now,
            using: &generator)
    }

    func providerChain(
        environments: Set<Environment> = [.development, .production],
        now: Double = Fixture.now,
    ) throws -> IssuedCertificate {
        var generator = SystemRandomNumberGenerator()
        return try issueProviderCertificate(
            request: Fixture.request(), bundleID: Fixture.bundleID, environments: environments, now: now,
            using: &generator)
    }

    func serverChain(names: [String] = [], now: Double = Fixture.now) throws -> IssuedCertificate {
        var generator = SystemRandomNumberGenerator()
        return try issueServerCertificate(names: names, now: now, using: &generator)
    }
}

/// A certificate with one fault, signed by our devices' intermediate. It begins as a valid one, and a test replaces
/// one part.
struct Forgery {
    var version = Certificate.Version.v3
    var serial = Certificate.SerialNumber(bytes: [0x40] + [UInt8](repeating: 7, count: 15))
    var publicKey: Certificate.PublicKey
    var issuer: DistinguishedName
    var subject: DistinguishedName
    var extensions: Certificate.Extensions
    var notBefore: Date
    var notAfter: Date
    var algorithm = Certificate.SignatureAlgorithm.ecdsaWithSHA256
    var signer: P256.Signing.PrivateKey

    /// - Parameter issuer: which of the authority's intermediates signs.
    init(
        _ authority: CertificateAuthority,
        copying issued: IssuedCertificate,
        issuer: KeyPath<AuthoritySecrets, AuthoritySecrets.Issuer> = \.devices,
    ) throws {
        let original = try Fixture.leaf(issued)
        publicKey = original.publicKey
        self.issuer = original.issuer
        subject = original.subject
        extensions = original.extensions
        notBefore = original.notValidBefore
        notAfter = original.notValidAfter
        guard let keyPEM = authority.secrets[keyPath: issuer].keyPEM else { throw TrustError(.failed, "no key") }
        signer = try P256.Signing.PrivateKey(pemRepresentation: keyPEM)
    }

    func chain() throws -> [[UInt8]] {
        let certificate = try Certificate(
            version: version,
            serialNumber: serial,
            publicKey: publicKey,
            notValidBefore: notBefore,
            notValidAfter: notAfter,
            issuer: issuer,
            subject: subject,
            signatureAlgorithm: algorithm,
            extensions: extensions,
            issuerPrivateKey: Certificate.PrivateKey(signer),
        )
        var coder = DER.Serializer()
        try coder.serialize(certificate)
        return [coder.serializedBytes]
    }
}
