import CommandSupport
import DeviceAgent
import APNSDevice
import Notifications

/// Prints each notification when it arrives, one on each line, for programs.
struct PrintingApp: DeviceDelegate {
    let output: Output
    /// The file for a renewed identity.
    let identityPath: String
    let reader: MessageReader

    /// The line of a notification.
    func line(_ notification: ReceivedNotification) -> JSONLine {
        var line = JSONLine(event: "notification")
        line.add(notification)
        line.add("text", reader.text(notification))
        return line
    }

    func received(_ notification: ReceivedNotification) async {
        let line = line(notification)
        output.printRaw(line.text, "")
    }

    func stateChanged(to state: Device.State) {
        if case .disconnected(let error, _) = state { Output.printDiagnostic("Disconnected: \(error)") }
    }

    func renewed(_ identity: DeviceIdentity) async throws { try identity.write(to: identityPath) }

    func reported(_ problem: DeviceError) { Output.printDiagnostic("\(problem)") }
}
