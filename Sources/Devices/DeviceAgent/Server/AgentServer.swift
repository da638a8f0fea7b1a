import Connections
import Foundation
import HTTPAPI
import Hummingbird
import Logging
import NIOCore
import NIOPosix

/// Serves the agent's API over HTTP/1.1 on a Unix socket. Any user may connect; what a user may do follows from the
/// manifests.
///
/// It has no timer of its own, as `Listener` has: an idle device must not wake up.
package final class AgentServer: Sendable {
    private let path: String
    private let listener: any Channel
    private let connections: AgentConnections
    private let tasks: ConnectionTasks

    /// Begins to listen at the agent's socket.
    /// - Throws: ``AgentError`` if another process uses the path.
    package static func start(_ agent: Agent) async throws(AgentError) -> AgentServer {
        let path = agent.settings.socket
        do {
            try await SocketFile.prepare(path, user: agent.agentUser)
        } catch {
            throw AgentError(.socket, error.cause)
        }
        let (tasks, connections) = (ConnectionTasks(), AgentConnections())
        let responder = AgentAPI(agent: agent).router().buildResponder()
        let logger = agent.logger
        // One loop is enough for the apps of a machine.
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton.next())
            .childChannelInitializer { channel in
                do {
                    let peer = try connections.add(channel)
                    try channel.pipeline.syncOperations.addHandler(ConnectionGuard(AgentLimits.connectionTimes))
                    return tasks.serve(channel, RequestGuard(AgentLimits.requests), logger) { request, channel in
                        let context = AgentContext(
                            source: .init(logger: logger, peer: peer, connectionEnd: channel.closeFuture))
                        return try await responder.respond(to: request, context: context)
                    }
                } catch {
                    return channel.eventLoop.makeFailedFuture(error)
                }
            }
        do {
            let listener = try await bootstrap.bind(unixDomainSocketPath: path).get()
            // Every user of the machine may be an app. The manifests say which one.
            chmod(path, 0o666)
            return AgentServer(path, listener, connections, tasks)
        } catch {
            throw AgentError(
                .socket, "The socket \(path) cannot be opened (\(ConnectionFailure.cause(of: error))).")
        }
    }

    private init(
        _ path: String,
        _ listener: any Channel,
        _ connections: AgentConnections,
        _ tasks: ConnectionTasks,
    ) {
        (self.path, self.listener, self.connections, self.tasks) = (path, listener, connections, tasks)
    }

    /// Ends all connections. Close the agent before, so that the streams have ended.
    package func close() async {
        unlink(path)
        // This fails if the listener was closed already.
        try? await listener.close()
        connections.end()
        await tasks.finish()
    }
}
