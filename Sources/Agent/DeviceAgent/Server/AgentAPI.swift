package import HTTPAPI
package import Hummingbird
package import Logging
import NIOCore

/// The agent's API. Its operations are in one table, from which the router, the checks and `/openapi.json` are made.
package struct AgentAPI: APIServer {
    package typealias Context = AgentContext
    package typealias Access = AgentAccess
    package typealias Caller = AgentCaller

    let agent: Agent

    package static var operations: [APIOperation<AgentAPI>] { AgentOperations.all }

    package func caller(of request: Request, _ context: AgentContext, _ access: AgentAccess) throws -> AgentCaller {
        agent.wasActive()
        if context.peer.reach == .nothing {
            throw Problem(
                403,
                "This process descends from a command of an app, and it is not known any more from which: its parent has ended."
            )
        }
        if access == .administrator, !agent.isAdministrator(context.peer) {
            throw Problem(403, "Only root and the agent's user may do this.")
        }
        return AgentCaller(peer: context.peer, connectionEnd: context.connectionEnd)
    }

    package func problem(of error: any Error, isNamedInPath: Bool) -> Problem? {
        guard let error = error as? AgentError else { return nil }
        let status =
            switch error.code {
            case .notAllowed: 403
            case .notRegistered: 404
            case .tooMany: 429
            case .refused: 409
            case .unavailable, .state, .activation, .socket: 503
            case .badSetting: 400
            }
        return Problem(status, error.cause)
    }
}

/// Who may send a request.
package enum AgentAccess: OperationAccess {
    /// Any process of this machine. Operations on an app ask its manifest.
    case everybody
    /// Root, and the user that the agent runs as.
    case administrator

    package static let usual = AgentAccess.everybody
    package static let unknownPath = AgentAccess.everybody
    package var needsKey: Bool { false }
}

/// Who sent a request.
package struct AgentCaller: Sendable {
    let peer: LocalPeer
    /// Completes when the client's connection has ended.
    let connectionEnd: EventLoopFuture<Void>
}

/// What the router knows of a request's connection.
package struct AgentContext: RequestContext {
    package struct Source: RequestContextSource {
        package let logger: Logger
        let peer: LocalPeer
        let connectionEnd: EventLoopFuture<Void>
    }

    package var coreContext: CoreRequestContextStorage
    let peer: LocalPeer
    let connectionEnd: EventLoopFuture<Void>

    package init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        peer = source.peer
        connectionEnd = source.connectionEnd
    }
}
