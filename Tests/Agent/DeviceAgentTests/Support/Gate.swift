import CommonTesting
import NIOCore
import NIOPosix

@testable import ServiceTesting

/// A TCP port on loopback whose connections lead to another port when a test opens it. Until then they wait.
struct Gate: Sendable {
    let port: Int
    private let opened: EventLoopPromise<Void>

    /// Has a closed gate while `body` runs.
    static func with(to target: Int, _ body: (Gate) async throws -> Void) async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        let opened = group.next().makePromise(of: Void.self)
        let listener = try await ServerBootstrap(group: group)
            .childChannelInitializer { here in
                // NIO reads nothing from a connection before this is complete.
                opened.futureResult.hop(to: here.eventLoop).flatMap {
                    ClientBootstrap(group: here.eventLoop)
                        .channelInitializer { there in there.pipeline.addHandler(PassOn(to: here)) }
                        .connect(host: "127.0.0.1", port: target)
                }.flatMap { there in here.pipeline.addHandler(PassOn(to: there)) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let gate = Gate(port: try required(listener.localAddress?.port), opened: opened)
        try await withCleanUp {
            try await body(gate)
        } cleanUp: {
            gate.open()
            try await listener.close()
        }
    }

    func open() { opened.succeed(()) }

    private final class PassOn: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        private let there: any Channel

        init(to there: any Channel) { self.there = there }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            there.writeAndFlush(unwrapInboundIn(data), promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { there.close(promise: nil) }
    }
}
