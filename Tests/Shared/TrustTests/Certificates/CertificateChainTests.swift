import Credentials
import Crypto
import Testing
import Trust

@Suite("Certificate chains of the operator")
struct CertificateChainTests {
    private let authority: CertificateAuthority

    init() throws { authority = try Fixture.authority() }

    @Test func `A chain leads to its root and to no other`() throws {
        let chain = Array(try authority.providerChain().chainPEM.utf8)
        try CertificateChain.check(chain, leadsTo: Array(authority.rootPEM.utf8))
        expect(.untrusted) { try CertificateChain.check(chain, leadsTo: Array(Fixture.authority().rootPEM.utf8)) }
    }

    /// The root was said not to have signed the chain.
    @Test func `A root that cannot be read is no root that did not sign`() throws {
        let chain = Array(try authority.providerChain().chainPEM.utf8)
        let key = Array(P256.Signing.PrivateKey().pemRepresentation.utf8)
        let error = #expect(throws: TrustError.self) { try CertificateChain.check(chain, leadsTo: key) }
        #expect(error?.reason == "There is no certificate in the text, but a private key.")
    }
}
