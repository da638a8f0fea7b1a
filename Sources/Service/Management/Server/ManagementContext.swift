package import Hummingbird
package import Logging
import NIOCore

/// What the router knows of a request's connection: who sent the request, and which rules apply.
package struct ManagementContext: RequestContext {
    package struct Source: RequestContextSource {
        package let logger: Logger
        let caller: ManagementCaller
        let rules: AccessRules
        let connectionEnd: EventLoopFuture<Void>
    }

    package var coreContext: CoreRequestContextStorage
    let caller: ManagementCaller
    /// The rules of the listener that the request came through.
    let rules: AccessRules
    /// Completes when the client's connection has ended.
    let connectionEnd: EventLoopFuture<Void>

    package init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        caller = source.caller
        rules = source.rules
        connectionEnd = source.connectionEnd
    }
}
