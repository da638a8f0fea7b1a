import Credentials
import Testing

@Suite("Errors of trust")
struct TrustErrorTests {
    private struct Cause: Error, CustomStringConvertible {
        let description: String
    }

    @Test
    func `Have code, reason and cause`() {
        #expect("\(TrustError(.expired, "It has expired."))" == "expired: It has expired.")
        #expect(
            "\(TrustError(.malformed, "It is broken.", cause: Cause(description: "a bit")))"
                == "malformed: It is broken. (a bit)")
    }

    @Test(
        arguments: [
            (TrustError.Code.revoked, 44), (.expired, 45), (.notYetValid, 45), (.untrusted, 48), (.malformed, 42),
            (.wrongUse, 43),
        ] as [(TrustError.Code, UInt8)])
    func `Have the number of a TLS alert`(_ code: TrustError.Code, _ alert: UInt8) {
        #expect(TrustError(code, "x").tlsAlert == alert)
    }

    @Test
    func `Shorten a long cause`() {
        let error = TrustError(.failed, "x", cause: Cause(description: String(repeating: "a", count: 1000)))
        #expect(error.cause?.count == TrustError.maximumCauseLength)
    }
}
