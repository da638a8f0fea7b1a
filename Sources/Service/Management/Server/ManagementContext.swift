import Console
import Hummingbird
import Logging
import NIOCore
import Notifications

/// What the router knows of a request's connection: who sent the request, and which rules apply.
struct ManagementContext: RequestContext {
    struct Source: RequestContextSource {
        let logger: Logger
        let caller: ManagementCaller
        let rules: AccessRules
        let connectionEnd: EventLoopFuture<Void>
    }

    var coreContext: CoreRequestContextStorage
    let caller: ManagementCaller
    /// The rules of the listener that the request came through.
    let rules: AccessRules
    /// Completes when the client's connection has ended.
    let connectionEnd: EventLoopFuture<Void>

    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        caller = source.caller
        rules = source.rules
        connectionEnd = source.connectionEnd
    }

    /// The console session of the request; nil if it has none.
    func session(of request: Request, now: Timestamp) -> ConsoleSessions.Name? {
        rules.session(of: request.head, from: caller, now: now)
    }

    /// The reason to refuse the request; nil if it is allowed.
    func refusal(of request: Request, access: ManagementOperation.Access, _ api: ManagementAPI) -> Problem? {
        rules.refusal(
            of: request.head, from: caller, access: access, trust: AdministratorTrust(api.accounts), now: api.now)
    }
}
