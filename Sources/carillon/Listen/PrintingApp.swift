import APNSDevice
import Notifications

/// Prints what arrives as it arrives, one line each, for programs.
struct PrintingApp: DeviceDelegate {
    let output: Output
    /// Where a renewed identity goes.
    let identityPath: String

    func received(_ notification: ReceivedNotification) async {
        var line = JSONLine(event: "notification")
        line.add(notification)
        output.printRaw(line.text, "")
    }

    func stateChanged(to state: Device.State) {
        if case .disconnected(let error, _) = state { Output.note("Disconnected: \(error)") }
    }

    func renewed(_ identity: DeviceIdentity) async throws { try identity.write(to: identityPath) }

    func reported(_ problem: DeviceError) { Output.note("\(problem)") }
}
