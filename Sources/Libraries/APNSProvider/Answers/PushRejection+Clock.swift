import Notifications

extension PushRejection {
    /// A difference of the clocks, in seconds, that is worth a word. The date of an answer has whole seconds and is as old as
    /// the way of the answer is long.
    private static let notableDifference: UInt64 = 60

    /// What this machine's clock has to do with the rejection, in a sentence; nil if nothing says that it has. A provider token
    /// has the time at which it was made by this clock.
    package var clockAdvice: String? {
        guard reason == .expiredProviderToken || reason == .invalidProviderToken else { return nil }
        if let clockDifference, clockDifference.magnitude >= Self.notableDifference {
            let side = clockDifference < 0 ? "behind" : "ahead of"
            return "This machine's clock is \(Self.text(clockDifference.magnitude)) \(side) the service's: set it."
        }
        // A token whose time is in the future is not expired. So the other reason has causes that are more likely.
        guard reason == .expiredProviderToken else { return nil }
        return clockDifference == nil
            ? "The client makes a new token before an hour is over, so this machine's clock is probably behind: compare it "
                + "with another, for example with timedatectl."
            : "The clocks of this machine and of the service agree, so ask the operator of the service."
    }

    private static func text(_ seconds: UInt64) -> String {
        switch seconds {
        case ..<120: "\(seconds) seconds"
        case ..<7_200: "\(seconds / 60) minutes"
        case ..<172_800: "\(seconds / 3_600) hours"
        default: "\(seconds / 86_400) days"
        }
    }
}
