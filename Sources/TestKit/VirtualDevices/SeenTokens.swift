import Notifications

/// The device tokens that became devices at their first use, in the order in which they did. A value; its owner guards it
/// with a lock.
struct SeenTokens {
    private struct Seen {
        let device: DeviceID
        /// The apps for which the token was used.
        var apps: [AppID]
    }

    private var seen: [[UInt8]: Seen] = [:]
    /// The tokens in a ring. A token that was removed stays until its place is needed.
    private var ring: [(token: [UInt8], device: DeviceID)] = []
    private var next = 0
    private let limit: Int

    init(limit: Int) { self.limit = max(1, limit) }

    var count: Int { seen.count }

    /// What is known of a token.
    enum Known {
        /// The token is new.
        case no
        /// The device was not used for this app.
        case forOtherApps(DeviceID)
        case yes(DeviceID)
    }

    func known(_ token: [UInt8], _ app: AppID) -> Known {
        guard let seen = seen[token] else { return .no }
        return seen.apps.contains(app) ? .yes(seen.device) : .forOtherApps(seen.device)
    }

    func device(of token: [UInt8]) -> DeviceID? { seen[token]?.device }

    /// Adds a new token.
    /// - Returns: the device that has to be forgotten for it; nil if there is room.
    mutating func add(_ token: [UInt8], _ device: DeviceID, for app: AppID) -> DeviceID? {
        seen[token] = Seen(device: device, apps: [app])
        guard ring.count == limit else {
            ring.append((token, device))
            return nil
        }
        let oldest = ring[next]
        ring[next] = (token, device)
        next = (next + 1) % limit
        guard seen[oldest.token]?.device == oldest.device else { return nil }
        seen[oldest.token] = nil
        return oldest.device
    }

    mutating func add(_ app: AppID, to token: [UInt8]) { seen[token]?.apps.append(app) }

    /// Forgets a token, unless it has become another device meanwhile.
    mutating func remove(_ token: [UInt8], of device: DeviceID) {
        if seen[token]?.device == device { seen[token] = nil }
    }

    /// Forgets that the tokens were used for an app, which was deleted.
    mutating func remove(_ app: AppID) {
        for token in Array(seen.keys) where seen[token]?.apps.contains(app) == true {
            seen[token]?.apps.removeAll { $0 == app }
        }
    }
}
