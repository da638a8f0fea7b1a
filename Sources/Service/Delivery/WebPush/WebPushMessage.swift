package import Notifications

/// A message of Web Push (RFC 8030), as it came: the service never decrypts it.
package struct WebPushMessage: Sendable, Hashable {
    /// The largest body, in bytes: a service may refuse a larger one, and no smaller one (RFC 8030, 7.2).
    package static let maximumBodyBytes = 4096
    /// The longest time for which a message is kept, in seconds: as for notifications, 30 days.
    package static let maximumTimeToLive: UInt64 = 30 * 24 * 60 * 60

    package var body: [UInt8]
    /// Nil for a body that is not encrypted.
    package var encoding: Encoding?
    /// The parameter `dh` of `Crypto-Key`, for ``Encoding/aesgcm``.
    package var dh: String?
    /// The parameter `salt` of `Encryption`, for ``Encoding/aesgcm``.
    package var salt: String?
    package var urgency: Urgency
    /// A message replaces one with the same topic that was not delivered yet (RFC 8030, 5.4): at most 32 characters.
    package var topic: String?

    package init(
        body: [UInt8],
        encoding: Encoding? = nil,
        dh: String? = nil,
        salt: String? = nil,
        urgency: Urgency = .normal,
        topic: String? = nil,
    ) {
        self.body = body
        self.encoding = encoding
        self.dh = dh
        self.salt = salt
        self.urgency = urgency
        self.topic = topic
    }

    /// How a body is encrypted.
    package enum Encoding: String, Sendable, Hashable, CaseIterable {
        /// RFC 8188 and 8291.
        case aes128gcm
        /// The draft before it, which servers still use.
        case aesgcm
    }

    /// RFC 8030, 5.3.
    package enum Urgency: String, Sendable, Hashable, CaseIterable {
        case veryLow = "very-low"
        case low
        case normal
        case high

        /// On low power `high` alone is sent at once.
        package var priority: Priority {
            switch self {
            case .veryLow: .low
            case .low, .normal: .considerate
            case .high: .immediate
            }
        }
    }

    /// Makes the notification for a device of this service.
    /// - Parameters:
    ///   - bundleID: the app's, which is the topic.
    ///   - expiration: when the message's `TTL` ends; see ``expiration(after:at:)``.
    package func notification(
        _ id: NotificationID,
        for bundleID: BundleID,
        to subscription: WebPushSubscription,
        expiration: Expiration,
    ) -> Notification {
        Notification(
            id: id, topic: bundleID.rawValue, pushType: .webPush, priority: urgency.priority, expiration: expiration,
            collapseID: topic.flatMap(CollapseIdentifier.init(rawValue:)), payload: payload(to: subscription.name))
    }

    /// The time at which a `TTL` ends. It is shortened to ``maximumTimeToLive``. 0 means one attempt (RFC 8030, 5.2).
    /// - Parameter now: the machine's time, as for a provider's expiration.
    package static func expiration(after timeToLive: UInt64, at now: Timestamp) -> Expiration {
        guard timeToLive > 0 else { return .immediately }
        // Expirations are whole seconds: round up, so that a second is not less than one.
        let seconds = now.advanced(by: .milliseconds(999)).seconds
        return .at(seconds &+ min(timeToLive, maximumTimeToLive))
    }
}
