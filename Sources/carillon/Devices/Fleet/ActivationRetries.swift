import APNSDevice
import Notifications

/// Decides whether a simulated device tries again to be activated.
struct ActivationRetries: Sendable {
    /// How long the service may be unable to activate a device. It is more than a restart takes. Beyond it, a person has to
    /// look at the service: its disk may be full.
    static let longestTrouble = Duration.seconds(30)

    /// When the present trouble was first seen; nil if there is none.
    private var began: ContinuousClock.Instant?

    /// - Parameter error: why the last attempt failed.
    mutating func allowsAnother(after error: DeviceError, at now: ContinuousClock.Instant) -> Bool {
        guard error.code == .unavailable else { return false }
        // The service limits the activations in a second. A large fleet waits for its turn, however long that takes.
        if error.reason == Rejection.Reason.tooManyRequests.rawValue {
            began = nil
            return true
        }
        let first = began ?? now
        began = first
        return now - first < Self.longestTrouble
    }
}
