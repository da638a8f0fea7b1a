package import Notifications

/// How a notification depends on the device's power (Guide, 2.2.2 and Table 8-2).
package enum Urgency: Sendable, Hashable {
    /// Sent at once.
    case immediate
    /// Sent in bursts.
    case considerate
    /// Never wakes the device.
    case low
}

extension Notification {
    /// The urgency by the priority. Silent notifications have at most that of priority 5, whatever the request says
    /// (Guide, 2.2.2).
    package var urgency: Urgency {
        switch priority {
        case .low: .low
        case .considerate: .considerate
        case .immediate: isSilent ? .considerate : .immediate
        }
    }

    /// Whether the notification only wakes the app, and so counts against the app's rate of silent notifications
    /// (Guide, 2.2.2). This is only the case for the app's own topic: VoIP, complications and other services are
    /// woken by every push.
    package var isSilent: Bool {
        switch pushType {
        case PushType.background: true
        case nil: payload.isSilent && !TopicKind.isOfService(topic)
        default: false
        }
    }
}

/// The power state that a device reports (docs/device-protocol.md).
package enum DevicePower: String, Sendable, Hashable, CaseIterable {
    /// The device sleeps or saves power, so notifications that can wait are delayed.
    case low
    /// The device is in use, so nothing waits. A device that has reported nothing counts as this, because it may be
    /// connected to power.
    case awake
    /// The device is charging, so nothing waits.
    case charging

    var takesEverything: Bool { self != .low }
}
