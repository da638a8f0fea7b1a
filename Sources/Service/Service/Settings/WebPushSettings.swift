import HTTPAPI
package import WebPush

/// Where Web Push listens, and what its endpoints begin with.
package struct WebPushSettings: Sendable, Hashable {
    /// Where senders connect with TLS; nil if they do not.
    package var listen: ListenAddress?
    /// Where a proxy connects that ends TLS; nil if there is none.
    package var plain: ListenAddress?
    /// The origin of all endpoints, without a slash at its end; nil for that of the listener.
    package var origin: String?
    package var limits = WebPushLimits()

    /// The host of ``origin``; nil if no setting says it.
    var originHost: String? {
        origin.flatMap { $0.split(separator: "/").last }.flatMap { HTTPAuthority(String($0))?.host }
    }

    /// Whether the service has Web Push.
    var isOn: Bool { listen != nil || plain != nil }
}
