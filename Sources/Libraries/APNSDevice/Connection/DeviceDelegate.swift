/// Receives the notifications and events of a device: an app, or the system between the device and its apps.
///
/// The calls for one device come one after the other, in the order of the events, and from any thread. They do not
/// block the device's connection, except that ``stateChanged(to:)`` has to return soon.
public protocol DeviceDelegate: Sendable {
    /// Takes a notification. The device acknowledges it when this method returns. Until then it counts as not
    /// delivered, and the service sends it again if the connection ends. So return as soon as the notification is
    /// stored safely, before the app has processed it.
    func received(_ notification: ReceivedNotification) async

    /// Called when the connection's state has changed.
    func stateChanged(to state: Device.State)

    /// Called for a problem that does not end the connection: a notification that cannot be read, or an identity
    /// that could not be renewed.
    func reported(_ problem: DeviceError)

    /// Called when the identity was renewed. Store the new one in place of the old one. The device uses it after
    /// this method returns, on a new connection.
    /// - Throws: Any error. The device then keeps using the old identity.
    func renewed(_ identity: DeviceIdentity) async throws
}

extension DeviceDelegate {
    /// Does nothing.
    public func stateChanged(to state: Device.State) {}
    /// Does nothing.
    public func reported(_ problem: DeviceError) {}
    /// Refuses the renewed identity.
    /// - Throws: ``DeviceError/Code/storage``.
    public func renewed(_ identity: DeviceIdentity) async throws {
        throw DeviceError(.storage, "The delegate does not store renewed identities.")
    }
}
