package import Notifications

/// How a notification stands to the device's power (Guide, 2.2.2 and Table 8-2).
package enum Urgency: Sendable, Hashable {
    /// Sent at once, whatever it costs.
    case immediate
    /// Sent in bursts.
    case considerate
    /// Never a reason to wake the device.
    case low
}

extension Notification {
    /// Silent notifications are low priority whatever they ask for (Guide, 2.2.2): 5 at most.
    package var urgency: Urgency {
        switch priority {
        case .low: .low
        case .considerate: .considerate
        case .immediate: isSilent ? .considerate : .immediate
        }
    }

    /// Whether it only wakes the app, and counts against what an app may have of these (Guide, 2.2.2). That is a matter of
    /// the app's own topic: VoIP, complications and other services of an app are woken by whatever is sent to them.
    package var isSilent: Bool {
        switch pushType {
        case PushType.background: true
        case nil: payload.isSilent && !TopicKind.isOfService(topic)
        default: false
        }
    }
}

/// What a device says of its power (docs/device-protocol.md).
package enum DevicePower: Sendable, Hashable, CaseIterable {
    /// Asleep, or saving power: what can wait waits.
    case low
    /// In use: nothing has to wait. A device that has said nothing counts as this: it may well be on mains.
    case awake
    /// On a charger: likewise.
    case charging

    var takesEverything: Bool { self != .low }
}
