import Notifications
import Rates

/// Decides when a device may be sent a notification: with regard to its power (Guide, Table 8-2), and to how many silent
/// notifications the app has had (2.2.2). It knows nothing of what is under way or comes first: that is ``DeviceLine``. A
/// pure value.
struct SendingPolicy: Sendable {
    var power: DevicePower
    /// When what waits for a burst is sent; nil while nothing does.
    private(set) var burstAt: Uptime?
    private let burstInterval: Duration

    /// How many silent notifications each app on each device has had.
    typealias Silents = RateTable<Destination>

    /// What a notification has to wait for.
    enum Wait: Equatable {
        /// The next burst, or something that is sent at once.
        case burst
        /// Anything else that is sent.
        case company
        /// The app has had too many silent notifications.
        case rate(until: Uptime)

        /// Whether it goes along with the next burst.
        var isDeferred: Bool { self == .burst || self == .company }

        /// What the delivery log is told.
        var step: DeliveryStep { isDeferred ? .deferred : .throttled }
    }

    init(power: DevicePower, burstInterval: Duration) {
        self.power = power
        self.burstInterval = burstInterval
    }

    /// What the device's power makes a notification wait for; nil if it may be sent now.
    /// - Parameter isBurst: whether what waits is being sent.
    func wait(for notification: Notification, isBurst: Bool) -> Wait? {
        guard !isBurst, !power.takesEverything else { return nil }
        switch notification.urgency {
        case .immediate: return nil
        case .considerate: return .burst
        case .low: return .company
        }
    }

    /// Counts a silent notification that is about to be sent.
    /// - Returns: what it has to wait for if it is one too many; nil if it may be sent now, as any that is not silent.
    static func throttle(
        _ notification: Notification,
        to destination: Destination,
        _ now: Moment,
        _ silents: inout Silents,
    ) -> Wait? {
        guard notification.isSilent, !silents.admits(destination, at: now.uptime.nanoseconds) else { return nil }
        return .rate(until: Uptime(nanoseconds: silents.opens(destination)))
    }

    /// Whether a notification that may not be stored has its one attempt now, though it is not urgent: a notification that
    /// may not wake the device has none.
    func tries(_ notification: Notification, isBurst: Bool) -> Bool {
        wait(for: notification, isBurst: isBurst) == nil || notification.urgency != .low && !notification.isSilent
    }

    /// Something waits from now on.
    mutating func began(_ wait: Wait, now: Moment) {
        if wait == .burst { burstAt = burstAt ?? now.uptime.advanced(by: burstInterval) }
    }

    /// What waited for a burst is sent, or nothing waits any more.
    mutating func endBurst() { burstAt = nil }
}
