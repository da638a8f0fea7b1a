import CommonTesting
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// A receiver that answers as it is told, and remembers what it got.
final class HookReceiver: Sendable {
    struct Received: Sendable {
        let id: String
        let timestamp: String
        let signature: String
        let body: String
    }

    private struct State {
        var received: [Received] = []
        var failures: Int
    }

    private let state: Mutex<State>
    private let (news, tell) = AsyncStream<Void>.makeStream()

    init(failures: Int) { state = Mutex(State(failures: failures)) }

    var received: [Received] { state.withLock(\.received) }

    /// Waits until this many events have come. Only one task may wait.
    func wait(for count: Int) async {
        guard received.count < count else { return }
        for await _ in news where received.count >= count { return }
    }

    private func take(_ received: Received) -> Bool {
        defer { tell.yield() }
        return state.withLock { state in
            state.received.append(received)
            state.failures -= 1
            return state.failures < 0
        }
    }

    func run(_ body: (_ url: String) async throws -> Void) async throws {
        let router = Router()
        router.post("/hook") { request, _ -> HTTPResponse.Status in
            func header(_ name: String) -> String { HTTPField.Name(name).flatMap { request.headers[$0] } ?? "" }
            let text = String(buffer: try await request.body.collect(upTo: 1 << 20))
            let received = Received(
                id: header("webhook-id"), timestamp: header("webhook-timestamp"),
                signature: header("webhook-signature"), body: text)
            return self.take(received) ? .ok : .serviceUnavailable
        }
        let (ports, announce) = AsyncStream<Int>.makeStream()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { announce.yield($0.localAddress?.port ?? 0) }, logger: logger)
        let group = ServiceGroup(configuration: .init(services: [.init(service: application)], logger: logger))
        let running = Task { try await group.run() }
        var iterator = ports.makeAsyncIterator()
        let port = await iterator.next() ?? 0
        try await withCleanUp {
            try await body("http://127.0.0.1:\(port)/hook")
        } cleanUp: {
            await group.triggerGracefulShutdown()
            try await running.value
        }
    }
}
