/// How a virtual device handles notifications.
package enum DeviceBehaviour: Sendable, Hashable {
    /// The device is connected and acknowledges at once.
    case online
    /// The device is connected and acknowledges after a delay.
    case slow(Duration)
    /// The device is not connected: notifications are stored.
    case offline
    /// The device is connected and never acknowledges.
    case silent
    /// The app was removed at this time, in milliseconds since 1970: 410 Unregistered.
    case removed(since: UInt64?)
    /// The device token has expired: 410 ExpiredToken.
    case expired

    package var isConnected: Bool {
        switch self {
        case .online, .slow, .silent: true
        case .offline, .removed, .expired: false
        }
    }

    /// Whether its apps are registered.
    var hasApps: Bool {
        switch self {
        case .online, .slow, .offline, .silent: true
        case .removed, .expired: false
        }
    }

    /// The behaviour's name in documents.
    package enum Kind: String, Sendable, CaseIterable {
        case online
        case slow
        case offline
        case silent
        case removed
        case expired
    }

    package var kind: Kind {
        switch self {
        case .online: .online
        case .slow: .slow
        case .offline: .offline
        case .silent: .silent
        case .removed: .removed
        case .expired: .expired
        }
    }
}
