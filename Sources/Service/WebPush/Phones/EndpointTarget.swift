import Delivery
import Notifications

/// Where a message goes.
enum EndpointTarget: Sendable {
    /// A subscription on a device of this service.
    case device(WebPushSubscription)
    /// A phone behind an upstream.
    case phone(HandleSubscription)
    /// A phone behind an upstream whose device token is in a relay's URL.
    case relay(WebPushRelay.Target)

    /// The hash of the endpoint, or what stands for the device token.
    var digest: [UInt8] {
        switch self {
        case .device(let subscription): subscription.digest
        case .phone(let phone): phone.endpoint.digest
        case .relay(let target): target.owner
        }
    }

    /// The only key whose tokens are accepted; nil for any.
    var vapid: [UInt8]? {
        switch self {
        case .device(let subscription): subscription.vapid
        case .phone(let phone): phone.endpoint.vapid
        case .relay: nil
        }
    }

    /// Whether messages without encryption are accepted.
    var isPlain: Bool {
        switch self {
        case .device(let subscription): subscription.isPlain
        case .phone(let phone): phone.isPlain
        case .relay(let target): target.settings.isPlain
        }
    }

    /// The `TTL` of a request that has none; nil if it has to have one. The senders of relays' URLs may have none.
    var usualTTL: UInt64? {
        switch self {
        case .device, .phone: nil
        case .relay: WebPushMessage.maximumTimeToLive
        }
    }

    /// Where a message is from which it can be withdrawn.
    var location: Destination {
        switch self {
        case .device(let subscription): subscription.destination
        case .phone(let phone): .handedOn(phone.app.id, environment)
        case .relay(let target): .handedOn(target.app.id, environment)
        }
    }

    var environment: Environment {
        switch self {
        case .device(let subscription): subscription.destination.environment
        case .phone(let phone): phone.handle.environment
        case .relay(let target): target.settings.place.environment
        }
    }
}

extension Destination {
    /// Where a message is that an upstream has: nowhere, so that nobody can withdraw it. Its URL is a name like any other.
    fileprivate static func handedOn(_ app: AppID, _ environment: Environment) -> Destination {
        Destination(environment: environment, device: DeviceID(rawValue: 0), app: app)
    }
}

/// An endpoint of a handle, with what a message to it needs.
struct HandleSubscription: Sendable {
    let endpoint: HandleEndpoint
    let handle: StoredHandle
    /// Not revoked, and not at its end.
    let grant: Grant
    let app: App
    /// Whether messages without encryption are accepted.
    let isPlain: Bool
}
