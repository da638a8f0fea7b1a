/// One notification for one device, the element of a bulk call.
public struct Push: Sendable, Hashable {
    /// The notification to send.
    public var notification: PushNotification
    /// The device token to send it to.
    public var deviceToken: DeviceToken

    /// A notification for one device.
    public init(_ notification: PushNotification, to deviceToken: DeviceToken) {
        self.notification = notification
        self.deviceToken = deviceToken
    }
}
