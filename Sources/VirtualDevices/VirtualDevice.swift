package import Delivery
package import Notifications

/// A device that runs in the service, as the management API shows it.
package struct VirtualDevice: Sendable {
    package let key: DeviceKey
    package let name: String?
    package let team: TeamID
    package internal(set) var behaviour: DeviceBehaviour
    /// What it reports of its power while it is connected.
    package internal(set) var power: DevicePower
    /// The time when it got this behaviour.
    package internal(set) var since: Timestamp
    package internal(set) var apps: [VirtualApp]
}

/// One app of a virtual device.
package struct VirtualApp: Sendable {
    package let app: App
    /// The token that the service sealed.
    package internal(set) var sealed: DeviceToken?
    /// The token that the fixture gave; nil without one.
    package let named: [UInt8]?

    package init(_ app: App, named: [UInt8]? = nil) {
        self.app = app
        self.named = named
    }

    /// The token that tests use, in hexadecimal digits.
    package var token: String { named.map(Hexadecimal.string) ?? sealed?.description ?? "" }
}

/// A virtual device's stream of notifications: hands what comes to the one task that acknowledges for all of them.
final class VirtualStream: NotificationStream {
    private let device: DeviceKey
    private let behaviour: DeviceBehaviour
    private let acknowledgements: VirtualAcknowledgements

    init(_ device: DeviceKey, _ behaviour: DeviceBehaviour, _ acknowledgements: VirtualAcknowledgements) {
        self.device = device
        self.behaviour = behaviour
        self.acknowledgements = acknowledgements
    }

    // Called under the switchboard's lock, which acknowledging takes as well.
    func send(_ attempt: DeliveryAttempt) {
        switch behaviour {
        case .online: acknowledgements.add(attempt.number, device, after: .zero)
        case .slow(let delay): acknowledgements.add(attempt.number, device, after: delay)
        case .silent, .offline, .removed, .expired: break
        }
    }

    func end(_ reason: StreamEnd) {
        if reason == .storeUnavailable { acknowledgements.connectAgain(device) }
    }
}
