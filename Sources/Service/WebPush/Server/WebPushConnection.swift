import Connections
import HTTPAPI
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import Matching
import NIOCore

/// One connection of a sender. ``ConnectionGuard`` and ``RequestGuard`` close it if its client is too slow. Confined to the
/// connection's event loop.
final class WebPushConnection: ServedConnection {
    private let api: WebPushAPI
    private let accepted: AcceptedConnection
    private let sender: Sender
    private let isHTTP2: Bool
    private let tasks: ConnectionTasks
    private let logger: Logger
    private let connection = ConnectionGuard(WebPushLimits.connections)
    /// The timers of the requests that a rehearsal lets wait.
    private var held: [Int: Scheduled<Void>] = [:]
    private var lastHeld = 0

    init(
        _ api: WebPushAPI,
        _ accepted: AcceptedConnection,
        _ sender: Sender,
        isHTTP2: Bool,
        _ tasks: ConnectionTasks,
        _ logger: Logger,
    ) {
        self.api = api
        self.accepted = accepted
        self.sender = sender
        self.isHTTP2 = isHTTP2
        self.tasks = tasks
        self.logger = logger
    }

    /// A sender never authenticates, so the listener's limit for such connections holds for it. Beyond the limit the oldest is
    /// closed. A proxy is known.
    var hasShownTrust: Bool { sender.isNamedByField }

    func addHandlers(to pipeline: ChannelPipeline.SynchronousOperations, before last: any ChannelHandler) throws {
        try pipeline.addHandler(connection)
        let bound = NIOLoopBound(accepted, eventLoop: accepted.channel.eventLoop)
        let makeGuard = { @Sendable in
            RequestGuard(WebPushLimits.requests, fields: WebPushAnswer.fields) { problem in
                bound.value.malformedRequest(problem.detail)
            }
        }
        let link = link
        let respond = { @Sendable [api, sender] (request: Request) async -> Response in
            var link = link
            link.mayUseUnknown = sender.isNear(request.headers, or: api.acceptAnyFrom)
            return await api.respond(to: request, from: sender.address(of: request.headers), on: link)
        }
        guard isHTTP2 else {
            _ = tasks.serve(accepted.channel, makeGuard(), logger) { request, _ in await respond(request) }
            return
        }
        let streams = HTTP1Channel.Configuration(
            additionalChannelHandlers: [makeGuard()], httpDecoderConfiguration: RequestLimits.decoder)
        let http = HTTP2Channel(
            responder: { request, writer, _ in
                let response = await respond(request)
                try await writer.write(response: response.head, body: response.body)
            }, configuration: .init(streamConfiguration: streams))
        _ = http.setup(channel: accepted.channel, logger: logger).assumeIsolated().flatMapThrowing {
            [tasks, logger] value in
            let errors = StreamErrors {
                bound.value.malformedRequest("A request over HTTP/2 is malformed (RFC 9113, 8.1.1).")
            }
            try errors.add(to: bound.value.channel.pipeline.syncOperations)
            tasks.add { await http.handle(value: value, logger: logger) }
        }
    }

    /// What rehearsals do with the connection.
    private var link: WebPushLink {
        let connection = NIOLoopBound(self, eventLoop: accepted.channel.eventLoop)
        let eventLoop = accepted.channel.eventLoop
        return WebPushLink(number: sender.connection) { kind in
            eventLoop.execute {
                switch kind {
                case .fin: connection.value.close()
                case .rst: AbruptEnd.close(connection.value.accepted.channel)
                }
            }
        } wait: { time in
            // It fails if the connection ends before.
            try? await eventLoop.flatSubmit { connection.value.hold(for: time) }.get()
        }
    }

    private func hold(for time: Duration) -> EventLoopFuture<Void> {
        let timer = accepted.channel.eventLoop.scheduleTask(in: TimeAmount(time)) {}
        let connection = NIOLoopBound(self, eventLoop: accepted.channel.eventLoop)
        if lastHeld == 0 { accepted.channel.closeFuture.whenComplete { _ in connection.value.releaseHeld() } }
        lastHeld += 1
        let number = lastHeld
        held[number] = timer
        timer.futureResult.whenComplete { _ in connection.value.held[number] = nil }
        return timer.futureResult
    }

    private func releaseHeld() {
        for timer in Array(held.values) { timer.cancel() }
    }

    func tick(now: NIODeadline) {}

    func drain() {
        releaseHeld()
        // The manager of HTTP/2 sends GOAWAY at this event.
        if isHTTP2 {
            accepted.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        } else {
            connection.end()
        }
    }

    func abandon() { close() }

    func close() { accepted.channel.close(promise: nil) }
}
