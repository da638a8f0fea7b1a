/// A subscription of an app on a virtual device to Web Push, with what a Web Push library needs to send to it.
public struct TestSubscription: Sendable {
    /// The name that the journal has: ``RequestPattern/subscription``.
    public let name: String
    /// The URL to send to.
    public let endpoint: String
    /// The public key of the subscription, in base64url.
    public let p256dh: String
    /// The secret of the subscription, in base64url.
    public let auth: String
    /// The private key, in base64url. A test does not need it: ``TestRequest/text`` is what was sent.
    public let privateKey: String
    /// The device, whose behaviour a test may change.
    public let device: TestDevice
}
