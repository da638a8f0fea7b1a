import NIOCore
import NIOHTTP1
import NIOPosix

/// Answers `GET /metrics` over HTTP/1.1 without TLS, which is what Prometheus asks for.
final class MetricsEndpoint: Sendable {
    /// How many may read at a time: a scraper or two, and a person.
    static let maximumConnections = 16
    /// How long a connection may be silent: scrapers come every minute or more often.
    static let idleTimeout = TimeAmount.minutes(2)

    private let channel: any Channel

    private init(_ channel: any Channel) { self.channel = channel }

    /// - Parameter text: makes the answer.
    static func bind(
        host: String,
        port: Int,
        group: any EventLoopGroup,
        text: @escaping @Sendable () -> String,
    ) async throws -> MetricsEndpoint {
        let open = ConnectionCount()
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                guard open.enter() else { return channel.close() }
                channel.closeFuture.whenComplete { _ in open.leave() }
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(IdleStateHandler(allTimeout: idleTimeout))
                    try pipeline.addHandler(MetricsHandler(text: text))
                }
            }
            .bind(host: host, port: port)
            .get()
        return MetricsEndpoint(channel)
    }

    /// `host:port`.
    var address: String {
        guard let address = channel.localAddress, let host = address.ipAddress, let port = address.port else {
            return ""
        }
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    func close() async {
        // It is being taken down: that it is closed already is as good.
        try? await channel.close()
    }
}

/// Answers the requests of one connection, on its event loop.
private final class MetricsHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let text: @Sendable () -> String
    private var head: HTTPRequestHead?

    init(text: @escaping @Sendable () -> String) { self.text = text }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body: break
        case .end:
            guard let head else { return }
            self.head = nil
            answer(head, context)
        }
    }

    private func answer(_ request: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let status: HTTPResponseStatus
        var body = ""
        if request.uri.prefix(while: { $0 != "?" }) != "/metrics" {
            status = .notFound
        } else if request.method != .GET && request.method != .HEAD {
            status = .methodNotAllowed
        } else {
            status = .ok
            body = text()
        }
        var head = HTTPResponseHead(version: request.version, status: status)
        head.headers.add(name: "content-type", value: "text/plain; version=0.0.4; charset=utf-8")
        head.headers.add(name: "content-length", value: "\(body.utf8.count)")
        if !request.isKeepAlive { head.headers.add(name: "connection", value: "close") }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if request.method != .HEAD {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        if !request.isKeepAlive { context.close(promise: nil) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
