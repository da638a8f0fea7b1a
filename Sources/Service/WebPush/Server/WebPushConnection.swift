import Connections
import HTTP2
import HTTPAPI
import HTTPAPIOverHTTP2
import Hummingbird
import Logging
import Matching
import NIOCore

/// One connection of a sender. ``ConnectionGuard`` closes it if it has no request for too long. ``RequestGuard``, or
/// ``RequestConnection`` with HTTP/2, refuses slow requests. Confined to the connection's event loop.
final class WebPushConnection: ServedConnection {
    private let api: WebPushAPI
    private let accepted: AcceptedConnection
    private let sender: Sender
    private let isHTTP2: Bool
    private let rules: RequestConnection.Rules
    private let tasks: ConnectionTasks
    private let logger: Logger
    private let connection: ConnectionGuard
    /// The session of HTTP/2.
    private var session: ServedSession?
    /// The timers of the requests that a rehearsal lets wait.
    private var held: [Int: Scheduled<Void>] = [:]
    private var lastHeld = 0

    init(
        _ api: WebPushAPI,
        _ accepted: AcceptedConnection,
        _ sender: Sender,
        isHTTP2: Bool,
        _ rules: RequestConnection.Rules,
        _ tasks: ConnectionTasks,
        _ logger: Logger,
    ) {
        var times = WebPushLimits.connections
        // The session ends an idle connection with GOAWAY before the guard closes it.
        if isHTTP2 { times.idle = times.idle + WebPushLimits.idleMargin }
        connection = ConnectionGuard(times)
        self.rules = rules
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
        if isHTTP2 { try addSession(to: pipeline, before: last) } else { try addHTTP1(to: pipeline) }
    }

    private func addHTTP1(to pipeline: ChannelPipeline.SynchronousOperations) throws {
        try pipeline.addHandler(connection)
        let bound = NIOLoopBound(accepted, eventLoop: accepted.channel.eventLoop)
        let requests = RequestGuard(WebPushLimits.requests, fields: WebPushAnswer.fields) { problem in
            bound.value.malformedRequest(problem.detail)
        }
        let respond = responder()
        _ = tasks.serve(accepted.channel, requests, logger) { request, _ in await respond(request) }
    }

    private func addSession(
        to pipeline: ChannelPipeline.SynchronousOperations, before last: any ChannelHandler
    ) throws {
        try pipeline.addHandler(connection, position: .before(last))
        let requests = RequestConnection(
            rules, connection, on: accepted.channel.eventLoop,
            whenMalformed: { [accepted] problem in accepted.malformedRequest(problem.detail) }, respond: responder())
        let session = ServedSession(
            accepted, configuration: RequestConnection.configuration(windowBytes: WebPushLimits.windowBytes),
            connection: requests)
        self.session = session
        try session.addHandlers(to: pipeline, before: last)
    }

    /// Answers the requests of this connection.
    private func responder() -> @Sendable (Request) async -> Response {
        let link = link
        return { [api, sender] request in
            var link = link
            link.mayUseUnknown = sender.isNear(request.headers, or: api.acceptAnyFrom)
            return await api.respond(to: request, from: sender.address(of: request.headers), on: link)
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

    var hasBegun: Bool { session?.hasBegun ?? true }

    func tick(now: NIODeadline) { session?.tick(now: now) }

    func drain() {
        releaseHeld()
        connection.end()
        session?.drain()
    }

    func abandon() {
        if let session { session.abandon() } else { close() }
    }

    func close() { accepted.channel.close(promise: nil) }

    func ended() -> EventLoopFuture<Void>? { session?.ended() }
}
