import Notifications

/// The offsets of a virtual clock. Each is valid from a time of the machine's clock. All numbers are milliseconds.
struct ClockHistory {
    /// The largest number of advances to remember. Tests advance the clock some dozen times. If there are more, the
    /// oldest are forgotten, and earlier times use the oldest offset that is still known.
    static let maximumSteps = 10_000

    private struct Step {
        /// The time of the advance, by the machine's clock.
        var since: UInt64
        /// The offset from that time on.
        var offset: UInt64
    }

    private var steps: [Step] = []
    /// The offset before the first step.
    private var initial: UInt64 = 0

    /// The current offset.
    var offset: UInt64 { steps.last?.offset ?? initial }

    /// The milliseconds of an advance; nil if it is negative, or if the offset would exceed ``ServiceClock/maximumOffset``.
    func milliseconds(of duration: Duration) -> UInt64? {
        let milliseconds = UInt64(clamping: duration.attoseconds / 1_000_000_000_000_000)
        let limit = UInt64(ServiceClock.maximumOffset.components.seconds) * 1000  // fits: a constant
        // fits: the limit is a constant
        guard duration >= .zero, milliseconds <= limit - min(limit, offset) else { return nil }
        return milliseconds
    }

    mutating func advance(by milliseconds: UInt64, at now: Timestamp) {
        if steps.count >= Self.maximumSteps { initial = steps.removeFirst().offset }
        // If the machine's clock was set back, keep the steps in order.
        let since = max(now.milliseconds, steps.last?.since ?? 0)
        let (sum, overflow) = offset.addingReportingOverflow(milliseconds)
        steps.append(Step(since: since, offset: overflow ? .max : sum))
    }

    func serviceTime(ofClient time: Timestamp) -> Timestamp {
        let offset = steps.last { $0.since <= time.milliseconds }?.offset ?? initial
        let (sum, overflow) = time.milliseconds.addingReportingOverflow(offset)
        return Timestamp(milliseconds: overflow ? .max : sum)
    }

    func clientTime(of time: Timestamp) -> Timestamp {
        var offset = initial
        // The end of the span in which the offset was in force.
        var end = UInt64.max
        for step in steps.reversed() {
            let (first, overflow) = step.since.addingReportingOverflow(step.offset)
            if !overflow, time.milliseconds >= first {
                offset = step.offset
                break
            }
            end = step.since
        }
        let back = time.milliseconds > offset ? time.milliseconds - offset : 0  // fits: it is greater
        return Timestamp(milliseconds: min(back, end))
    }
}
