import Connections
import HTTPAPI
import NIOCore

/// One connection of the API. ``ConnectionGuard`` and ``RequestGuard`` close it if its client is too slow; this class ends
/// it when its listener ends, and when the client's certificate is no longer valid. Confined to the connection's event loop.
final class ManagementConnection: ServedConnection {
    /// Adds the HTTP handlers to the channel, with this one among them.
    typealias Installation = (_ channel: any Channel, _ requests: RequestGuard) -> Void

    private let channel: any Channel
    /// Told of each request that breaks a rule of HTTP, with the rule.
    private let malformed: (String) -> Void
    private let table: ConnectionTable
    private let entry: ConnectionTable.Entry
    private let installation: Installation
    /// Returns false if the client's certificate was revoked or has expired since the handshake, or if this node cannot
    /// know that.
    private let isTrusted: () -> Bool
    /// When this connection noticed that; nil while the client is trusted.
    private var distrusted: NIODeadline?
    private let connection: ConnectionGuard

    /// - Parameter malformed: told of each request that breaks a rule of HTTP, with the rule.
    /// - Returns: nil if there are too many connections and all of them are busy.
    init?(
        _ channel: any Channel,
        in table: ConnectionTable,
        isTrusted: @escaping () -> Bool = { true },
        malformed: @escaping (String) -> Void = { _ in },
        _ installation: @escaping Installation,
    ) {
        self.channel = channel
        self.malformed = malformed
        self.table = table
        self.isTrusted = isTrusted
        self.installation = installation
        let entry = ConnectionTable.Entry(channel, now: .now())
        self.entry = entry
        connection = ConnectionGuard(ManagementLimits.connectionTimes) { entry.setIdle(since: $0) }
        guard table.add(entry) else { return nil }
    }

    /// Adds the handlers after those of the listener.
    func addHandlers(to pipeline: ChannelPipeline.SynchronousOperations, before last: any ChannelHandler) throws {
        try pipeline.addHandler(connection)
        installation(channel, RequestGuard(ManagementLimits.requests) { [malformed] in malformed($0.detail) })
    }

    func ended() -> EventLoopFuture<Void>? {
        table.remove(entry)
        return nil
    }

    func tick(now: NIODeadline) {
        guard !isTrusted() else { return distrusted = nil }
        // Each new request is refused anyway. This ends streams too, which are requests that were allowed before. The
        // next answer is the last one. It may be the answer to the request that revoked the certificate.
        connection.endAfterAnswer()
        let begin = min(distrusted ?? now, connection.since)
        if begin + ManagementLimits.lastAnswer < now { close() }
        distrusted = distrusted ?? now
    }

    func drain() { connection.end() }

    func abandon() { close() }

    func close() { channel.close(promise: nil) }
}
