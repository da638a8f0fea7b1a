import Notifications
import Testing

@testable import Upstream

/// When it is logged that an upstream refuses the gateway's key.
struct CredentialsStandingTests {
    private func moment(_ seconds: Int64) -> Timestamp {
        Timestamp(milliseconds: 1_700_000_000_000).advanced(by: .seconds(seconds))
    }

    @Test func `A refusal is logged once, and again after an interval`() {
        var standing = CredentialsStanding()
        let isFirstLogged = standing.refused("InvalidProviderToken", at: moment(0))
        #expect(isFirstLogged)
        for seconds in [0, 1, 599] as [Int64] {
            let isLogged = standing.refused("BadCertificate", at: moment(seconds))
            #expect(!isLogged)
        }
        #expect(standing.refusal == CredentialsRefusal(reason: "BadCertificate", since: moment(0)))
        let isLoggedAgain = standing.refused("BadCertificate", at: moment(600))
        #expect(isLoggedAgain)
    }

    @Test func `The end of a refusal is logged if its beginning was`() {
        var standing = CredentialsStanding()
        let isNoEndLogged = !standing.accepted()
        #expect(isNoEndLogged)
        _ = standing.refused("InvalidProviderToken", at: moment(0))
        let isEndLogged = standing.accepted()
        #expect(isEndLogged && standing.refusal == nil)
        // An upstream that refuses only now and then does not fill the log.
        let isSecondLogged = standing.refused("InvalidProviderToken", at: moment(1))
        let isItsEndLogged = standing.accepted()
        #expect(!isSecondLogged && !isItsEndLogged)
    }
}
