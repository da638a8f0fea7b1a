import Testing
import Trust

@Suite("Errors of trust")
struct TrustErrorTests {
    private struct Cause: Error, CustomStringConvertible {
        let description: String
    }

    @Test("have code, reason and cause")
    func description() {
        #expect("\(TrustError(.expired, "It has expired."))" == "expired: It has expired.")
        #expect(
            "\(TrustError(.malformed, "It is broken.", cause: Cause(description: "a bit")))"
                == "malformed: It is broken. (a bit)")
    }

    @Test("shorten a long cause")
    func longCause() {
        let error = TrustError(.failed, "x", cause: Cause(description: String(repeating: "a", count: 1000)))
        #expect(error.cause?.count == TrustError.maximumCauseLength)
    }
}
