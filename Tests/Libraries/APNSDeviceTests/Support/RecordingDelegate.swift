import APNSDevice

/// Records the calls of a device. It accepts each notification at once, unless the test holds it.
final class RecordingDelegate: DeviceDelegate {
    struct Record: Sendable {
        var notifications: [ReceivedNotification] = []
        var states: [Device.State] = []
        var problems: [DeviceError] = []
        var renewed: [DeviceIdentity] = []
        var isHeld = false

        var bodies: [String] { notifications.map { String(decoding: $0.payload, as: UTF8.self) } }
        var failures: [DeviceError.Code] {
            states.compactMap { if case .disconnected(let error, _) = $0 { error.code } else { nil } }
        }
        var connections: Int { states.count { $0 == .connected } }
    }

    let record = Observed(Record())
    private let keeps: Bool

    init(keeps: Bool = true, isHeld: Bool = false) {
        self.keeps = keeps
        record.update { $0.isHeld = isHeld }
    }

    func received(_ notification: ReceivedNotification) async {
        record.update { $0.notifications.append(notification) }
        // This throws only if the test was cancelled.
        _ = try? await record.wait { !$0.isHeld }
    }

    func stateChanged(to state: Device.State) { record.update { $0.states.append(state) } }
    func reported(_ problem: DeviceError) { record.update { $0.problems.append(problem) } }

    func renewed(_ identity: DeviceIdentity) async throws {
        guard keeps else { throw DeviceError(.storage, "The disk is full.") }
        record.update { $0.renewed.append(identity) }
    }
}
