import Connections
import Foundation
import HTTPAPI
import Hummingbird
import Logging
import NIOCore
import NIOPosix
import PrivateFiles
import Synchronization

/// Serves the agent's API over HTTP/1.1 on a Unix socket. Any user may connect; what a user may do follows from the
/// manifests.
///
/// It has no timer of its own, as `Listener` has: an idle device must not wake up.
package final class AgentServer: Sendable {
    private let agent: Agent
    private let connections: AgentConnections
    private let tasks = ConnectionTasks()
    private let responder: any HTTPResponder<AgentContext> & Sendable
    /// The listeners, by the paths of their sockets.
    private let listeners = Mutex<[String: any Channel]>([:])

    /// Begins to listen at the agent's socket.
    /// - Throws: ``AgentError`` if another process uses the path.
    package static func start(_ agent: Agent) async throws(AgentError) -> AgentServer {
        let server = AgentServer(agent)
        try await server.listen(at: agent.settings.socket, of: nil)
        // The folder is made again, because an earlier agent may have had other apps.
        try? FileManager.default.removeItem(atPath: agent.settings.appSocketFolder)
        agent.appSockets.withLock { $0 = { [weak server] in await server?.socket(of: $0) } }
        return server
    }

    private init(_ agent: Agent) {
        self.agent = agent
        responder = AgentAPI(agent: agent).router().buildResponder()
        connections = AgentConnections(agent.processes, agentUser: agent.agentUser)
    }

    /// Opens the socket of an app, if it is not open.
    /// - Returns: its path; nil if it cannot be opened, and the journal says why.
    private func socket(of bundleID: String) async -> String? {
        let path = agent.settings.socket(of: bundleID)
        guard !listeners.withLock({ $0[path] != nil }) else { return path }
        do {
            if !(try Files.exists(agent.settings.appSocketFolder)) {
                try Files.makeFolder(agent.settings.appSocketFolder)
            }
            try await listen(at: path, of: bundleID)
            return path
        } catch {
            let cause = (error as? AgentError)?.cause ?? "\(error)"
            agent.logger.error(
                "The command of an app has no socket of its own", metadata: ["app": "\(bundleID)", "cause": "\(cause)"])
            return nil
        }
    }

    /// - Parameter app: the only app that a client at this socket can be; nil if the manifests say which one it is.
    private func listen(at path: String, of app: String?) async throws(AgentError) {
        do {
            try await SocketFile.prepare(path, user: agent.agentUser)
        } catch {
            throw AgentError(.socket, error.cause)
        }
        let (tasks, connections, agent) = (tasks, connections, agent)
        let logger = agent.logger
        // One loop is enough for the apps of a machine.
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton.next())
            .childChannelInitializer { [responder] channel in
                do {
                    let peer = try connections.add(channel, of: app)
                    try channel.pipeline.syncOperations.addHandler(ConnectionGuard(AgentLimits.connectionTimes))
                    return tasks.serve(channel, RequestGuard(AgentLimits.requests), logger) { request, channel in
                        await agent.pace(peer)
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
            // Every user of the machine may be an app, and the manifests say which one. Commands run as the agent's user.
            chmod(path, app == nil ? 0o666 : 0o600)
            listeners.withLock { $0[path] = listener }
        } catch {
            throw AgentError(
                .socket, "The socket \(path) cannot be opened (\(ConnectionFailure.cause(of: error))).")
        }
    }

    /// Ends all connections. Close the agent before, so that the streams have ended.
    package func close() async {
        agent.appSockets.withLock { $0 = nil }
        for (path, listener) in listeners.withLock(\.self) {
            unlink(path)
            // This fails if the listener was closed already.
            try? await listener.close()
        }
        rmdir(agent.settings.appSocketFolder)
        connections.end()
        await tasks.finish()
    }
}
