import APNSDevice
import Notifications

/// Prints what arrives, one line each, for programs.
struct PrintingApp: DeviceDelegate {
    let output: Output
    /// Where a renewed identity goes.
    let identityPath: String

    func received(_ notification: ReceivedNotification) async {
        let payload = String(decoding: notification.payload, as: UTF8.self)
        let topic = JSONString.quoted(notification.topic)
        output.printRaw(
            #"{"event":"notification","id":\#(JSONString.quoted(notification.id)),"topic":\#(topic),"#
                + #""priority":\#(notification.priority),"payload":\#(payload)}"#,
            "\(notification.topic)  \(payload)",
        )
    }

    func stateChanged(to state: Device.State) {
        if case .disconnected(let error, _) = state { Output.note("Disconnected: \(error)") }
    }

    func renewed(_ identity: DeviceIdentity) async throws { try identity.write(to: identityPath) }

    func reported(_ problem: DeviceError) { Output.note("\(problem)") }
}
