/// One notification for one device: what the bulk form of `send` takes.
public struct Push: Sendable, Hashable {
    /// What is sent.
    public var notification: PushNotification
    /// Where it goes.
    public var deviceToken: DeviceToken

    /// A notification for a device.
    public init(_ notification: PushNotification, to deviceToken: DeviceToken) {
        self.notification = notification
        self.deviceToken = deviceToken
    }
}
