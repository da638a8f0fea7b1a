import CommonTesting
import Credentials
import Crypto
import Testing

@Suite("Certificate requests of our own", .startsPrograms)
struct SigningRequestTests {
    private let key = P256.Signing.PrivateKey()

    @Test func `openssl verifies a request, and reads its key and nothing else`() async throws {
        let result = try await OpenSSL.run(
            ["req", "-verify", "-noout", "-pubkey", "-text", "-in", "r.pem"],
            files: ["r.pem": try SigningRequest.pem(for: key)])
        #expect(result.status == 0)
        #expect(result.output.contains("verify OK"))
        #expect(result.output.contains("Version: 1 (0x0)"))
        #expect(result.output.contains("Subject: \n"))
        #expect(result.output.contains("ecdsa-with-SHA256"))
        #expect(result.output.contains("(none)"))
        #expect(try PEM(result.output).verifyingKey.rawRepresentation == key.publicKey.rawRepresentation)
    }
}
