import Testing
import Trust

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

    @Test
    func `Shorten a long cause`() {
        let error = TrustError(.failed, "x", cause: Cause(description: String(repeating: "a", count: 1000)))
        #expect(error.cause?.count == TrustError.maximumCauseLength)
    }
}
