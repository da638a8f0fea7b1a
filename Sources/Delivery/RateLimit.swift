package import Notifications

/// A rate with a burst, as a value: a bucket that fills with time and gives out one token an event.
package struct RateLimit: Sendable, Hashable {
    private let burst: Double
    private let perMillisecond: Double
    private var tokens: Double
    private var moment: Timestamp?

    /// - Parameters:
    ///   - burst: how many events may come at once.
    ///   - perSecond: how many may come in the long run; 0 switches the limit off.
    package init(burst: Int, perSecond: Double) {
        self.burst = Double(burst)
        perMillisecond = perSecond / 1000
        tokens = Double(burst)
    }

    /// Whether one more event is within the rate; it counts if it is.
    package mutating func allows(at now: Timestamp) -> Bool {
        guard perMillisecond > 0 else { return true }
        if let moment, now > moment {
            tokens = min(burst, tokens + Double(now.milliseconds - moment.milliseconds) * perMillisecond)
        }
        moment = max(moment ?? now, now)
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }
}
