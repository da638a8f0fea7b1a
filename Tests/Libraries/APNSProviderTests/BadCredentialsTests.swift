import Crypto
import Foundation
import ProviderTesting
import Testing

@testable import APNSProvider

/// Invalid keys and certificates: a typed error says what is wrong, before anything is sent.
struct BadCredentialsTests {
    private static let keyID = "ABC123DEFG"
    private static let teamID = "DEF123GHIJ"

    @Test func `A key file that is not there`() throws {
        let error = #expect(throws: ProviderError.self) {
            try ProviderCredentials(keyFile: "/nowhere/AuthKey.p8", keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        }
        #expect(error?.code == .badCredentials)
        #expect(error?.cause.contains("/nowhere/AuthKey.p8") == true)
    }

    @Test func `A key file that is no key`() throws {
        let error = #expect(throws: ProviderError.self) {
            try ProviderCredentials(key: "hello", keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        }
        #expect(error?.code == .badCredentials)
    }

    @Test func `A key of another curve is named`() throws {
        let error = #expect(throws: ProviderError.self) {
            try ProviderCredentials(
                key: P384.Signing.PrivateKey().pemRepresentation, keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        }
        #expect(error?.cause.contains("P-384") == true)
    }

    @Test(arguments: ["", "abc 123", "ABC/123", String(repeating: "A", count: 65)]) func `A bad key ID`(
        _ keyID: String
    ) throws {
        let error = #expect(throws: ProviderError.self) {
            try ProviderCredentials(
                key: P256.Signing.PrivateKey().pemRepresentation, keyID: keyID, teamID: "DEF123GHIJ")
        }
        #expect(error?.code == .badCredentials)
    }

    @Test func `A certificate file that is not there`() throws {
        let error = #expect(throws: ProviderError.self) {
            try ProviderCredentials(certificateFile: "/nowhere/provider.pem")
        }
        #expect(error?.code == .badCredentials)
    }

    @Test func `A certificate that is none`() throws {
        let error = #expect(throws: ProviderError.self) { try ProviderCredentials(certificate: "hello") }
        #expect(error?.cause.contains("certificate") == true)
    }

    @Test func `A certificate without its key`() throws {
        let made = try TestAuthority.providerCertificate()
        let error = #expect(throws: ProviderError.self) { try ProviderCredentials(certificate: made.chain) }
        #expect(error?.cause.contains("private key") == true)
    }

    @Test func `A certificate with the key of another`() throws {
        let (one, other) = (try TestAuthority.providerCertificate(), try TestAuthority.providerCertificate())
        let error = #expect(throws: ProviderError.self) {
            try ProviderCredentials(certificate: one.chain, key: other.key)
        }
        #expect(error?.code == .badCredentials)
    }

    @Test func `An authority that is none`() throws {
        let environment = APNSEnvironment(host: "127.0.0.1", authority: .pem("hello"))
        let error = #expect(throws: ProviderError.self) {
            try ProviderClient(credentials: TestAuthority.credentials(), environment: environment)
        }
        #expect(error?.code == .badEnvironment)
    }

    @Test(arguments: [
        (P384.Signing.PrivateKey().pemRepresentation, "P-384"),
        (P521.Signing.PrivateKey().pemRepresentation, "P-521"),
        (P256.Signing.PrivateKey().publicKey.pemRepresentation, "key"),
        ("-----BEGIN PRIVATE KEY-----\nMEECAQAw\n-----END PRIVATE KEY-----\n", "key"),
        ("", "key"),
    ])
    func `A key that does not do`(_ pem: String, _ named: String) throws {
        let error = #expect(throws: ProviderError.self) {
            try ProviderCredentials(key: pem, keyID: Self.keyID, teamID: Self.teamID)
        }
        #expect(error?.code == .badCredentials)
        #expect(error?.cause.contains(named) == true, "\(String(describing: error))")
    }

    /// A folder in place of a file can be opened, but not read.
    @Test func `Files that cannot be read`() throws {
        let folder = FileManager.default.temporaryDirectory.path
        let key = #expect(throws: ProviderError.self) {
            try ProviderCredentials(keyFile: folder, keyID: Self.keyID, teamID: Self.teamID)
        }
        let certificate = #expect(throws: ProviderError.self) { try ProviderCredentials(certificateFile: folder) }
        for error in [key, certificate] {
            #expect(error?.code == .badCredentials)
            #expect(error?.cause.contains(folder) == true)
        }
    }

    @Test func `Files that are too large`() throws {
        let long = String(repeating: "x", count: ProviderCertificate.maximumBytes + 1)
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("large-\(UUID().uuidString)").path
        try long.write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(throws: ProviderError.self) {
            try ProviderCredentials(keyFile: path, keyID: Self.keyID, teamID: Self.teamID)
        }
        #expect(throws: ProviderError.self) { try ProviderCredentials(certificateFile: path) }
        #expect(throws: ProviderError.self) { try ProviderCredentials(certificate: long) }
    }
}
