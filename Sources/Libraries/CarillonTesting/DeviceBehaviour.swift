import Matching

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

    private enum Keys: String, CodingKey {
        case kind, delay, since
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        switch self {
        case .online: try container.encode("online", forKey: .kind)
        case .slow(let delay):
            try container.encode("slow", forKey: .kind)
            try container.encode(delay.iso8601, forKey: .delay)
        case .offline: try container.encode("offline", forKey: .kind)
        case .silent: try container.encode("silent", forKey: .kind)
        case .removed(let since):
            try container.encode("removed", forKey: .kind)
            try container.encodeIfPresent(since, forKey: .since)
        case .expired: try container.encode("expired", forKey: .kind)
        }
    }
}
