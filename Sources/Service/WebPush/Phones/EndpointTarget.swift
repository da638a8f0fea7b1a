import Delivery
import Notifications

/// What an endpoint leads to.
enum EndpointTarget: Sendable {
    /// A subscription on a device of this service.
    case device(WebPushSubscription)
    /// A phone behind an upstream.
    case phone(PhoneSubscription)

    /// The hash of the endpoint.
    var digest: [UInt8] {
        switch self {
        case .device(let subscription): subscription.digest
        case .phone(let phone): phone.endpoint.digest
        }
    }

    /// The only key whose tokens are accepted; nil for any.
    var vapid: [UInt8]? {
        switch self {
        case .device(let subscription): subscription.vapid
        case .phone(let phone): phone.endpoint.vapid
        }
    }

    /// Whether messages without encryption are accepted.
    var isPlain: Bool {
        switch self {
        case .device(let subscription): subscription.isPlain
        case .phone(let phone): phone.isPlain
        }
    }

    /// Where a message is from which it can be withdrawn. One that was handed on to an upstream is nowhere.
    var location: Destination {
        switch self {
        case .device(let subscription): subscription.destination
        case .phone(let phone):
            Destination(environment: phone.handle.environment, device: DeviceID(rawValue: 0), app: phone.app.id)
        }
    }

    var environment: Environment {
        switch self {
        case .device(let subscription): subscription.destination.environment
        case .phone(let phone): phone.handle.environment
        }
    }
}

/// An endpoint of a handle, with what a message to it needs.
struct PhoneSubscription: Sendable {
    let endpoint: HandleEndpoint
    let handle: StoredHandle
    /// Not revoked, and not at its end.
    let grant: Grant
    let app: App
    /// Whether messages without encryption are accepted.
    let isPlain: Bool
}
