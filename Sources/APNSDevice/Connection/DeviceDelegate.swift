/// What a device tells its owner: an app, or the system that stands between the device and its apps.
///
/// Calls come one after the other for one device, in the order in which things happened, and from any thread. The
/// device's connection is not held up by them, except that ``stateChanged(to:)`` has to return soon.
public protocol DeviceDelegate: Sendable {
    /// Takes a notification. It is acknowledged when this returns: until then it counts as not delivered, and comes
    /// again if the device goes away. So return once it is safe with the app, and not only when the app is done.
    func received(_ notification: ReceivedNotification) async

    /// The connection's state has changed.
    func stateChanged(to state: Device.State)

    /// Something is wrong that does not end the connection: a notification that cannot be read, or an identity that
    /// could not be renewed.
    func reported(_ problem: DeviceError)

    /// The identity was renewed: keep this one in place of the old one. It is used once this returns, on a new
    /// connection; when it throws, the old one goes on being used.
    func renewed(_ identity: DeviceIdentity) async throws
}

extension DeviceDelegate {
    public func stateChanged(to state: Device.State) {}
    public func reported(_ problem: DeviceError) {}
    public func renewed(_ identity: DeviceIdentity) async throws {
        throw DeviceError(.storage, "The delegate does not keep renewed identities.")
    }
}
