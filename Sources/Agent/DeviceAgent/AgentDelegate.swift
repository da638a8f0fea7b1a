import APNSDevice
import Logging
import Synchronization

/// The device's delegate: hands everything to the agent.
struct AgentDelegate: DeviceDelegate {
    let agent: Agent

    func received(_ notification: ReceivedNotification) async { await agent.receive(notification) }

    func stateChanged(to state: Device.State) {
        agent.connection.change(to: state)
        switch state {
        case .connected: agent.logger.info("Connected to the service")
        case .disconnected(let error, _):
            agent.logger.info("Disconnected from the service", metadata: ["cause": "\(error.cause)"])
        case .connecting, .ended: break
        }
    }

    func reported(_ problem: DeviceError) {
        agent.logger.warning("The device reports a problem", metadata: ["cause": "\(problem.cause)"])
    }

    func renewed(_ identity: DeviceIdentity) async throws {
        try identity.write(to: agent.settings.ownIdentityFile)
        agent.logger.info("The device's certificate was renewed")
    }
}

/// The identifiers of the notifications that have come. The agent records them together with the events, so that a
/// notification is neither lost nor queued twice if the process is killed in between.
struct QueuedIdentifiers: ReceivedIdentifiers {
    let store: AgentStore

    func contains(_ identifier: String) async -> Bool { store.hasSeen(identifier) }
    func insert(_ identifier: String) async {}
}

/// The state of the connection, for those who ask, and a stream of the times when it was made.
final class ConnectionStatus: Sendable {
    private let state = Mutex<Device.State>(.connecting)
    let connects: AsyncStream<Void>
    private let connected: AsyncStream<Void>.Continuation

    init() {
        // One is enough: the work after connecting looks at the newest state.
        (connects, connected) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    var current: Device.State { state.withLock(\.self) }

    func change(to new: Device.State) {
        state.withLock { $0 = new }
        if case .connected = new { connected.yield() }
    }

    func finish() { connected.finish() }
}
