package import APNSProvider
import CommonTesting
import Credentials
import Crypto
import Foundation
package import NIOSSL
import Notifications
import Trust

/// Certificates and keys for tests. All tests share the authority.
package enum TestAuthority {
    private static let made = Result { () throws -> CertificateAuthority in
        var generator = SeededGenerator.random()
        return try CertificateAuthority.create(now: Date().timeIntervalSince1970, using: &generator)
    }

    /// The root certificate.
    package static func rootPEM() throws -> String { try made.get().rootPEM }

    /// The TLS settings of a server on the loopback addresses.
    /// - Parameter protocols: the protocols that it accepts (RFC 7301).
    package static func serverContext(
        asksForCertificate: Bool = false,
        protocols: [String] = ["h2"],
    ) throws -> NIOSSLContext {
        var generator = SeededGenerator.random()
        let issued = try made.get().issueServerCertificate(
            names: ["127.0.0.2", "127.0.0.3"], now: Date().timeIntervalSince1970, using: &generator)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(issued.chainPEM.utf8)).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array((issued.keyPEM ?? "").utf8), format: .pem)))
        configuration.applicationProtocols = protocols
        if asksForCertificate {
            configuration.certificateVerification = .noHostnameVerification
            configuration.trustRoots = .certificates(
                try NIOSSLCertificate.fromPEMBytes(Array(made.get().rootPEM.utf8)))
        }
        return try NIOSSLContext(configuration: configuration)
    }

    /// A provider certificate and its key in one PEM text.
    package static func providerCertificate() throws -> (chain: String, key: String) {
        var generator = SeededGenerator.random()
        guard let bundleID = BundleID(rawValue: "com.example.app") else { throw ProviderTestError() }
        let key = P256.Signing.PrivateKey()
        let issued = try made.get().issueProviderCertificate(
            request: Array(SigningRequest.pem(for: key).utf8), bundleID: bundleID, environments: [.development],
            now: Date().timeIntervalSince1970, using: &generator)
        return (issued.chainPEM, key.pemRepresentation)
    }

    /// A new signing key.
    package static func credentials() throws -> ProviderCredentials {
        try ProviderCredentials(
            key: P256.Signing.PrivateKey().pemRepresentation, keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
    }
}

/// An error that only tests throw.
package struct ProviderTestError: Error {
    package init() {}
}
