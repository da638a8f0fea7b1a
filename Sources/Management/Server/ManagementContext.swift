import Hummingbird
import Logging
import NIOCore
import Notifications

/// What the router knows of a request beside its head: who asks.
struct ManagementContext: RequestContext {
    struct Source: RequestContextSource {
        let logger: Logger
        let caller: ManagementCaller
        let rules: AccessRules
        let connectionEnd: EventLoopFuture<Void>
    }

    var coreContext: CoreRequestContextStorage
    let caller: ManagementCaller
    /// Of the listener that the request came over.
    let rules: AccessRules
    /// Completes when the client's connection has ended.
    let connectionEnd: EventLoopFuture<Void>

    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        caller = source.caller
        rules = source.rules
        connectionEnd = source.connectionEnd
    }

    /// The session of the console that asks; nil if none does.
    func session(of request: Request, now: Timestamp) -> ConsoleSessions.Name? {
        rules.session(of: request.head, from: caller, now: now)
    }

    /// Why the request is refused; nil if it is not.
    func refusal(of request: Request, access: ManagementOperation.Access, now: Timestamp) -> Problem? {
        rules.refusal(of: request.head, from: caller, access: access, now: now)
    }
}
