import Notifications
import Rates

/// Decides when a notification may be sent to a device, by the device's power (Guide, Table 8-2) and by the number of
/// silent notifications that the app has had (2.2.2). It is a pure value. ``DeviceLine`` decides the order, and knows
/// which notifications are under way.
struct SendingPolicy: Sendable {
    var power: DevicePower
    /// The time of the next burst; nil if nothing waits for one.
    private(set) var burstAt: Uptime?
    private let burstInterval: Duration

    /// The rates of silent notifications for each app on each device.
    typealias Silents = RateTable<Destination>

    /// The event that a notification waits for.
    enum Wait: Equatable {
        /// It waits for the next burst, or for a notification that is sent at once.
        case burst
        /// It waits until any other notification is sent.
        case company
        /// The app has had too many silent notifications, so it waits until this time.
        case rate(until: Uptime)

        /// Whether the notification is sent with the next burst.
        var isDeferred: Bool { self == .burst || self == .company }

        /// The step to record in the delivery log.
        var step: DeliveryStep { isDeferred ? .deferred : .throttled }
    }

    init(power: DevicePower, burstInterval: Duration) {
        self.power = power
        self.burstInterval = burstInterval
    }

    /// Returns what a notification has to wait for because of the device's power; nil if it may be sent now.
    /// - Parameter isBurst: whether a burst is being sent.
    func wait(for notification: Notification, isBurst: Bool) -> Wait? {
        guard !isBurst, !power.takesEverything else { return nil }
        switch notification.urgency {
        case .immediate: return nil
        case .considerate: return .burst
        case .low: return .company
        }
    }

    /// Counts a silent notification that is about to be sent.
    /// - Returns: What the notification has to wait for if there were too many; nil if it may be sent now, or is not
    ///   silent.
    static func throttle(
        _ notification: Notification,
        to destination: Destination,
        _ now: Moment,
        _ silents: inout Silents,
    ) -> Wait? {
        guard notification.isSilent, !silents.admits(destination, at: now.uptime.nanoseconds) else { return nil }
        return .rate(until: Uptime(nanoseconds: silents.opens(destination)))
    }

    /// Whether a notification that must not be stored is sent now, in its only attempt, although it is not urgent. If
    /// it must not wake the device, it is not sent.
    func tries(_ notification: Notification, isBurst: Bool) -> Bool {
        wait(for: notification, isBurst: isBurst) == nil || notification.urgency != .low && !notification.isSilent
    }

    /// Records that a notification waits.
    mutating func began(_ wait: Wait, now: Moment) {
        if wait == .burst { burstAt = burstAt ?? now.uptime.advanced(by: burstInterval) }
    }

    /// Makes the next burst come this much earlier.
    mutating func advanceBurst(by duration: Duration) { burstAt = burstAt?.earlier(by: duration) }

    /// Records that the burst was sent, or that nothing waits any more.
    mutating func endBurst() { burstAt = nil }
}
