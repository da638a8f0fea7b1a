import Credentials
import Crypto
import Foundation
import Notifications
import CommonTesting
import Testing

@Suite("Signing keys")
struct SigningKeyTests {
    @Test
    func `A key reads back as it was written`() throws {
        var generator = SeededGenerator()
        let key = SigningKey.create(using: &generator)
        let read = try SigningKey(id: key.id, pem: key.pem)
        #expect(read.privateKey.rawRepresentation == key.privateKey.rawRepresentation)
    }

    @Test(.startsPrograms)
    func `openssl reads the file as PKCS#8`() async throws {
        var generator = SeededGenerator()
        let key = SigningKey.create(using: &generator)
        let result = try await OpenSSL.run(["pkey", "-in", "key.p8", "-noout", "-text"], files: ["key.p8": key.pem])
        #expect(result.output.contains("prime256v1"))
        #expect(key.pem.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    }

    @Test
    func `The identifier comes from the given random numbers, and the key does not`() {
        var (first, second) = (SeededGenerator(seed: 5), SeededGenerator(seed: 5))
        let keys = (SigningKey.create(using: &first), SigningKey.create(using: &second))
        #expect(keys.0.id == keys.1.id)
        #expect(keys.0.privateKey.rawRepresentation != keys.1.privateKey.rawRepresentation)
    }

    @Test(arguments: [
        "", "x", P256.Signing.PrivateKey().publicKey.pemRepresentation,
    ])
    func `A text that is not a P-256 key is refused`(pem: String) throws {
        let id = try #require(KeyID(rawValue: "ABC123DEFG"))
        expect(.malformed) { try SigningKey(id: id, pem: pem) }
    }

    @Test func `A key of another curve is refused`() throws {
        let id = try #require(KeyID(rawValue: "ABC123DEFG"))
        expect(.unsupportedKey) { try SigningKey(id: id, pem: P384.Signing.PrivateKey().pemRepresentation) }
    }

    @Test
    func `A file larger than any key is refused without reading it`() throws {
        let id = try #require(KeyID(rawValue: "ABC123DEFG"))
        expect(.tooLarge) { try SigningKey(id: id, pem: String(repeating: "A", count: SigningKey.maximumBytes + 1)) }
    }

    @Test
    func `The description of a signing key does not contain the key`() throws {
        let id = try #require(KeyID(rawValue: "ABC123DEFG"))
        #expect("\(SigningKey(id: id, privateKey: P256.Signing.PrivateKey()))" == "SigningKey(ABC123DEFG)")
    }
}
