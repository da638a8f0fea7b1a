import Console
import NIOCore
import Notifications

/// What the service knows of the sender of a request.
package struct ManagementSender: Sendable {
    let kind: ManagementCaller
    /// The console session that sent the request; nil if the request came from elsewhere.
    let session: ConsoleSessions.Name?
    /// Completes when the client's connection has ended.
    let connectionEnd: EventLoopFuture<Void>
    private let api: ManagementAPI

    init(
        _ kind: ManagementCaller, session: ConsoleSessions.Name?, connectionEnd: EventLoopFuture<Void>,
        _ api: ManagementAPI
    ) {
        self.kind = kind
        self.session = session
        self.connectionEnd = connectionEnd
        self.api = api
    }

    /// Calls `finish` when the client has disconnected or its console session has ended. Streams, which do not end by
    /// themselves, need this.
    func whenOver(_ finish: @escaping @Sendable () -> Void) {
        connectionEnd.whenComplete { _ in finish() }
        guard let session else { return }
        let console = api.console
        guard let (left, answer) = console.add(finish, to: session, now: api.now) else { return finish() }
        let timer = connectionEnd.eventLoop.scheduleTask(in: TimeAmount(left)) { finish() }
        connectionEnd.whenComplete { _ in
            timer.cancel()
            console.remove(answer, of: session)
        }
    }
}
