import CommonTesting
import NIOCore
import NIOPosix
import Synchronization

/// An HTTP proxy on loopback that opens tunnels (RFC 9110, 9.3.6).
package final class ConnectProxy: Sendable {
    /// What the proxy does with a request.
    package enum Manner: Sendable {
        case opens
        /// It opens tunnels to this port, whatever the request names.
        case misleads(to: @Sendable () -> Int)
        /// It answers with this text and opens no tunnel.
        case answers(String)
        /// It never answers.
        case silent
        /// It closes the connection.
        case closes
    }

    package let port: Int
    private let heads: Mutex<[String]>

    /// The heads of all requests.
    package var requests: [String] { heads.withLock { $0 } }
    package var url: String { "http://127.0.0.1:\(port)" }

    private init(port: Int) {
        self.port = port
        heads = Mutex([])
    }

    /// Runs a proxy while `body` runs.
    package static func run(_ manner: Manner = .opens, _ body: (ConnectProxy) async throws -> Void) async throws {
        let proxy = Mutex<ConnectProxy?>(nil)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        Door(manner) { head in proxy.withLock { $0 }?.heads.withLock { $0.append(head) } })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let made = ConnectProxy(port: listener.localAddress?.port ?? 0)
        proxy.withLock { $0 = made }
        try await withCleanUp {
            try await body(made)
        } cleanUp: {
            try await listener.close()
        }
    }

    /// Reads the request, and then passes everything on.
    private final class Door: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let manner: Manner
        private let received: @Sendable (String) -> Void
        private var head = ""
        private var isAsked = false
        private var waiting: [ByteBuffer] = []
        private var other: (any Channel)?

        init(_ manner: Manner, received: @escaping @Sendable (String) -> Void) {
            self.manner = manner
            self.received = received
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data)
            if let other { return other.writeAndFlush(bytes, promise: nil) }
            guard !isAsked else { return waiting.append(bytes) }
            head += String(buffer: bytes)
            guard head.hasSuffix("\r\n\r\n") else { return }
            isAsked = true
            received(head)
            switch manner {
            case .opens: open(context)
            case .misleads(let port): open(context, to: port())
            case .answers(let text): context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
            case .silent: break
            case .closes: context.close(promise: nil)
            }
        }

        private func open(_ context: ChannelHandlerContext, to other: Int? = nil) {
            let place = head.split(separator: " ")[1].split(separator: ":")
            guard place.count == 2, let port = other ?? Int(place[1]) else { return context.close(promise: nil) }
            let (here, bound) = (context.channel, NIOLoopBound((self, context), eventLoop: context.eventLoop))
            ClientBootstrap(group: context.eventLoop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Back(to: here))
                    }
                }
                .connect(host: String(place[0]), port: port)
                .whenComplete { result in
                    let (door, context) = bound.value
                    guard case .success(let channel) = result else { return context.close(promise: nil) }
                    door.other = channel
                    context.writeAndFlush(
                        door.wrapOutboundOut(
                            ByteBuffer(string: "HTTP/1.1 200 Connection established\r\nvia: x\r\n\r\n")),
                        promise: nil)
                    for bytes in door.waiting { channel.writeAndFlush(bytes, promise: nil) }
                }
        }

        func channelInactive(context: ChannelHandlerContext) { other?.close(promise: nil) }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    /// Passes on what the server sends.
    private final class Back: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let client: any Channel

        init(to client: any Channel) { self.client = client }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            client.writeAndFlush(unwrapInboundIn(data), promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { client.close(promise: nil) }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
