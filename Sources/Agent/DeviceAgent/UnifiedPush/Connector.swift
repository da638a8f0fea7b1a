import Crypto
import Notifications

/// An app of the desktop that gets messages through the distributor: one registration of UnifiedPush.
struct Connector: Sendable, Hashable {
    /// The version of the interface with which it has registered.
    enum Version: Int64, Sendable, Hashable {
        case one = 1
        case two = 2
    }

    /// The name of its subscription at the service.
    let subscription: String
    /// The app's bus name.
    let service: String
    /// The app's name for the registration.
    let token: String
    var version: Version
    /// The only VAPID key that may send.
    var vapid: String?
    /// The URL to which application servers send.
    var endpoint: String

    /// What the subscriptions of the distributor begin with, so that they are told from those of apps.
    static let prefix = "up-"

    /// The name of a subscription: a hash of user, bus name and token. So the service does not learn which apps a person uses, and an
    /// app has a subscription that no other app can name.
    static func subscription(user: UInt32, service: String, token: String) -> String {
        // No bus name has a NUL character, and the distributor refuses a token with one.
        let digest = SHA256.hash(data: Array("\(user)\0\(service)\0\(token)".utf8))
        return prefix + String(decoding: Base64URL.encoded(digest), as: UTF8.self)
    }
}

/// A message that an app of the desktop has not taken.
struct ConnectorMessage: Sendable, Hashable {
    /// Its number in the agent's store. Numbers grow.
    let number: Int64
    let id: String
    /// The body as it came.
    let body: [UInt8]
}
