import APNSDevice
import Testing

@testable import carillon

/// When `device fleet` tries again to activate a device.
struct ActivationRetriesTests {
    private static let start = ContinuousClock.now
    private static let rate = DeviceError(.unavailable, "429", reason: "TooManyRequests")
    private static let trouble = DeviceError(.unavailable, "500", reason: "InternalServerError")

    /// Whether another attempt is allowed after each failure.
    private static func decisions(_ failures: [(error: DeviceError, after: Duration)]) -> [Bool] {
        var retries = ActivationRetries()
        return failures.map { retries.allowsAnother(after: $0.error, at: start + $0.after) }
    }

    @Test func `A device waits for its turn, however long that takes`() {
        let decisions = Self.decisions((0..<600).map { (Self.rate, .seconds(60 * $0)) })
        #expect(decisions == [Bool](repeating: true, count: 600))
    }

    @Test func `Another trouble of the service ends the fleet after 30 seconds`() {
        let decisions = Self.decisions([
            (Self.trouble, .zero), (Self.trouble, .milliseconds(29_999)), (Self.trouble, .seconds(30)),
        ])
        #expect(decisions == [true, true, false])
    }

    @Test func `A trouble that has passed does not count`() {
        let decisions = Self.decisions([
            (Self.trouble, .zero), (Self.rate, .seconds(20)), (Self.trouble, .seconds(40)),
            (Self.trouble, .seconds(70)),
        ])
        #expect(decisions == [true, true, true, false])
    }

    @Test(arguments: [DeviceError.Code.refused, .identityRefused, .notConnected, .timedOut])
    func `Any other failure ends the fleet at once`(_ code: DeviceError.Code) {
        #expect(Self.decisions([(DeviceError(code, "refused"), .zero)]) == [false])
    }
}
