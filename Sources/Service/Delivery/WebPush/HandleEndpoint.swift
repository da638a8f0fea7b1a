package import Notifications

/// An endpoint of Web Push that stands for a handle, and so for a phone behind an upstream. It ends with the handle.
package struct HandleEndpoint: Sendable, Hashable {
    /// The largest number of endpoints of a handle: an app has one for each account or server.
    package static let maximumCount = 100

    package let handle: Handle
    /// Chosen by the app; ``WebPushSubscription/nameBytes``.
    package let name: String
    /// Random bytes that the endpoint is made from, with a secret.
    package let seed: [UInt8]
    /// SHA-256 of the endpoint, by which it is found.
    package let digest: [UInt8]
    /// The only application server key whose messages are accepted, as an uncompressed point on P-256; nil for any.
    package var vapid: [UInt8]?

    package init(handle: Handle, name: String, seed: [UInt8], digest: [UInt8], vapid: [UInt8]? = nil) {
        self.handle = handle
        self.name = name
        self.seed = seed
        self.digest = digest
        self.vapid = vapid
    }
}
