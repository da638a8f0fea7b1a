package import Notifications

/// The body of a message of Web Push that a phone fetches, because it does not fit into the notification.
package struct KeptBody: Sendable, Hashable {
    /// How many bodies are kept for an owner: as many as a queue has messages.
    package static let maximumCount = 100
    /// How many bytes of bodies are kept for an owner: as many as a queue has.
    package static let maximumBytes = 262_144
    /// How many bytes of bodies are kept for all owners together, so that a flood cannot fill the disk.
    package static let maximumBytesOfAll = 256 * 1_048_576
    /// How long a body is kept at least, whatever the TTL is: the notification has to reach the phone first.
    package static let minimumLife = Duration.seconds(5 * 60)
    /// How long a body is kept after it was first fetched whole: the phone may lose its connection, or have the answer at a
    /// proxy only, and try again.
    package static let lifeAfterFetch = Duration.seconds(10 * 60)

    /// SHA-256 of the 32 random bytes that the URL has as 43 characters.
    package var digest: [UInt8]
    /// 32 bytes: the digest of the endpoint, or a hash of a relay's token.
    package var owner: [UInt8]
    package var body: [UInt8]
    /// See ``expires(after:at:)``.
    package var expires: Timestamp
    /// Whether it was fetched whole: then its end does not change any more.
    package var isFetched: Bool

    package init(digest: [UInt8], owner: [UInt8], body: [UInt8], expires: Timestamp, isFetched: Bool = false) {
        self.digest = digest
        self.owner = owner
        self.body = body
        self.expires = expires
        self.isFetched = isFetched
    }

    /// When a body's time is over that nobody fetches: after its `TTL`, ``minimumLife`` at least and
    /// ``WebPushMessage/maximumTimeToLive`` at most.
    /// - Parameter timeToLive: seconds.
    package static func expires(after timeToLive: UInt64, at now: Timestamp) -> Timestamp {
        let life = Duration.seconds(min(timeToLive, WebPushMessage.maximumTimeToLive))
        return now.advanced(by: max(minimumLife, life))
    }
}
