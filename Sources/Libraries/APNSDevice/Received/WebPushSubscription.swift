import Notifications

/// A subscription of an app to Web Push: whoever knows its endpoint can send to the app.
public struct WebPushSubscription: Sendable, Hashable {
    /// The name that the app gave it, 1 to 100 bytes: an account, or a chat.
    public var name: String
    /// The URL to which application servers send. It is a secret of the app and its senders.
    public var endpoint: String
    /// The only VAPID key that may send, in base64url; nil if the endpoint alone is enough (RFC 8292).
    public var vapid: String?
    /// Whether the service takes bodies that are not encrypted.
    public var isPlain: Bool

    /// Creates a value, for an app's tests.
    public init(name: String, endpoint: String, vapid: String? = nil, isPlain: Bool = false) {
        (self.name, self.endpoint, self.vapid, self.isPlain) = (name, endpoint, vapid, isPlain)
    }
}

extension WebPushSubscription {
    /// Reads one of the courier's list.
    init?(_ value: JSONValue) {
        let members = value.members
        guard let name = members["name"]?.string, let endpoint = members["endpoint"]?.string else { return nil }
        self.init(name: name, endpoint: endpoint, vapid: members["vapid"]?.string, isPlain: members["plain"] == true)
    }
}
