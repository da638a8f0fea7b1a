import APNSDevice

/// Passes everything to the device's system. If a notification comes for an app that registered in an earlier run,
/// first puts the app on the device.
struct ScreenDelegate: DeviceDelegate {
    let system: DeviceSystem
    let user: DeviceUser

    func received(_ notification: ReceivedNotification) async {
        await user.expect(notification.bundleID)
        await system.received(notification)
    }

    func stateChanged(to state: Device.State) { system.stateChanged(to: state) }
    func reported(_ problem: DeviceError) { system.reported(problem) }
    func renewed(_ identity: DeviceIdentity) async throws { try await system.renewed(identity) }
}
