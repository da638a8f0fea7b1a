import Hummingbird
import Logging
import NIOCore

/// What the router knows of a request beside its head: who asks.
struct ManagementContext: RequestContext {
    struct Source: RequestContextSource {
        let logger: Logger
        let caller: ManagementCaller
        let connectionEnd: EventLoopFuture<Void>
    }

    var coreContext: CoreRequestContextStorage
    let caller: ManagementCaller
    /// Completes when the client's connection has ended.
    let connectionEnd: EventLoopFuture<Void>

    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        caller = source.caller
        connectionEnd = source.connectionEnd
    }
}
