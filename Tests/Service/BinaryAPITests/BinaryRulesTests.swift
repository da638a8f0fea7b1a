import Notifications
import Testing

@testable import BinaryAPI

struct BinaryRulesTests {
    @Test(arguments: Rejection.Reason.allCases)
    func `The status of a rejection follows from its row in the table of reasons`(_ reason: Rejection.Reason) {
        let status: BinaryStatus? =
            switch reason {
            case .unregistered, .expiredToken: nil
            case .badDeviceToken, .deviceTokenNotForTopic: .invalidToken
            case .idleTimeout, .unrelatedKeyIDInToken, .shutdown: .shutdown
            default: .processingError
            }
        #expect(Rejection(reason).binaryStatus == status)
    }
}
