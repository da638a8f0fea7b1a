package import Hummingbird
import HummingbirdCore
package import Logging
package import NIOCore
import Synchronization

/// The tasks that answer requests, one for each connection. Do not shut down the event loop before they have ended.
package final class ConnectionTasks: Sendable {
    private struct State {
        var running: [UInt64: Task<Void, Never>] = [:]
        var last: UInt64 = 0
    }

    private let state = Mutex(State())
    private let executor: (any TaskExecutor)?

    /// - Parameter executor: runs the tasks; nil for the threads of all tasks.
    package init(executor: (any TaskExecutor)? = nil) { self.executor = executor }

    package func add(_ work: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            state.last += 1
            let name = state.last
            state.running[name] = Task(executorPreference: executor) {
                await work()
                self.state.withLock { $0.running[name] = nil }
            }
        }
    }

    /// Adds Hummingbird's handlers for HTTP/1.1 to a connection, and answers its requests in a task until it ends.
    package func serve(
        _ channel: any Channel,
        _ requests: RequestGuard,
        _ logger: Logger,
        _ respond: @escaping @Sendable (Request, any Channel) async throws -> Response,
    ) -> EventLoopFuture<Void> {
        let requests = NIOLoopBound(requests, eventLoop: channel.eventLoop)
        let http = HTTP1Channel(
            responder: { request, writer, channel in
                let response = try await respond(request, channel)
                try await writer.write(response: response.head, body: response.body)
            },
            configuration: .init(
                additionalChannelHandlers: [requests.value], httpDecoderConfiguration: RequestLimits.decoder))
        return http.setup(channel: channel, logger: logger).map { value in
            self.add { await http.handle(value: value, logger: logger) }
        }
    }

    /// Waits until all tasks have ended. Call this after the connections have been closed.
    package func finish() async {
        for task in state.withLock({ Array($0.running.values) }) { await task.value }
    }
}
