import Management
import Matching
import Notifications

/// How a virtual device handles notifications.
public enum DeviceBehaviour: Sendable, Hashable, Encodable {
    /// The device is connected and acknowledges each notification at once.
    case online
    /// The device is connected and acknowledges each notification after a delay.
    case slow(Duration)
    /// The device is not connected. The service stores the newest notification of each app.
    case offline
    /// The device is connected and never acknowledges.
    case silent
    /// The app was removed from the device. A push gets 410 `Unregistered`.
    /// - Parameter since: when it was removed, in milliseconds since 1970; nil means now.
    case removed(since: Int64? = nil)
    /// The device token has expired. A push gets 410 `ExpiredToken`.
    case expired

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(try message)
    }

    var message: ManagementMessages.Behaviour {
        get throws(TestAPNsError) {
            if case .removed(let since?) = self, since < 0 {
                throw TestAPNsError(.refused, "An app cannot have been removed before 1970: \(since) ms.")
            }
            return known
        }
    }

    private var known: ManagementMessages.Behaviour {
        switch self {
        case .online: ManagementMessages.Behaviour(kind: "online")
        case .slow(let delay): ManagementMessages.Behaviour(kind: "slow", delay: delay.iso8601)
        case .offline: ManagementMessages.Behaviour(kind: "offline")
        case .silent: ManagementMessages.Behaviour(kind: "silent")
        case .removed(let since):
            ManagementMessages.Behaviour(kind: "removed", since: since.map { UInt64(clamping: $0) })
        case .expired: ManagementMessages.Behaviour(kind: "expired")
        }
    }
}
