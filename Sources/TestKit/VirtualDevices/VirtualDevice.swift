package import Delivery
package import Notifications

/// A device that runs in the service, as the management API shows it.
package struct VirtualDevice: Sendable {
    package let key: DeviceKey
    package let name: String?
    package let team: TeamID
    package internal(set) var behaviour: DeviceBehaviour
    /// The power state that the device reports while it is connected.
    package internal(set) var power: DevicePower
    /// When it got this behaviour.
    package internal(set) var since: Timestamp
    package internal(set) var apps: [VirtualApp]
    /// The subscriptions of Web Push of its apps.
    package internal(set) var subscriptions: [VirtualSubscription] = []
    /// The device token of which the device was made at its first use; nil for a device that a test made.
    package let firstSeen: [UInt8]?

    init(
        key: DeviceKey,
        name: String?,
        team: TeamID,
        behaviour: DeviceBehaviour,
        power: DevicePower,
        since: Timestamp,
        apps: [VirtualApp],
        firstSeen: [UInt8]? = nil,
    ) {
        self.key = key
        self.name = name
        self.team = team
        self.behaviour = behaviour
        self.power = power
        self.since = since
        self.apps = apps
        self.firstSeen = firstSeen
    }

    var destinations: [Destination] {
        apps.map { Destination(environment: key.environment, device: key.device, app: $0.app.id) }
    }
}

/// One app of a virtual device.
package struct VirtualApp: Sendable {
    package let app: App
    /// The device tokens that the service sealed: the app's own, and those of services that tests use.
    package internal(set) var sealed: [TopicKind: DeviceToken] = [:]
    /// The device tokens that the fixture named for the app and its services.
    package let named: [TopicKind: [UInt8]]

    package init(_ app: App, named: [TopicKind: [UInt8]] = [:]) {
        self.app = app
        self.named = named
    }

    /// The app's own device token that tests use, in hexadecimal digits.
    package var token: String { token(.app) }

    /// The device tokens that tests use, by topic.
    package var tokens: [String: String] {
        Dictionary(uniqueKeysWithValues: sealed.keys.map { (app.bundleID.topic($0), token($0)) })
    }

    private func token(_ service: TopicKind) -> String {
        named[service].map(Hexadecimal.string) ?? sealed[service]?.description ?? ""
    }
}

/// The stream of a virtual device. It passes notifications to the task that acknowledges for all of them.
final class VirtualStream: NotificationStream, BroadcastStream {
    private let device: DeviceKey
    private let behaviour: DeviceBehaviour
    private let acknowledgements: VirtualAcknowledgements

    init(_ device: DeviceKey, _ behaviour: DeviceBehaviour, _ acknowledgements: VirtualAcknowledgements) {
        self.device = device
        self.behaviour = behaviour
        self.acknowledgements = acknowledgements
    }

    // Called while the switchboard's lock is held. Acknowledging needs that lock, so it happens later.
    func send(_ attempt: DeliveryAttempt) { received(attempt.number) }

    func send(_ broadcast: BroadcastMessage) { received(broadcast.number) }

    private func received(_ number: UInt64) {
        switch behaviour {
        case .online: acknowledgements.add(number, device, after: .zero)
        case .slow(let delay): acknowledgements.add(number, device, after: delay)
        case .silent, .offline, .removed, .expired: break
        }
    }

    func end(_ reason: StreamEnd) {
        if reason == .storeUnavailable { acknowledgements.connectAgain(device) }
    }
}
