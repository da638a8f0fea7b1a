import CommonTesting
import NIOCore
import NIOPosix

@testable import ServiceTesting

/// A TCP port on loopback in front of a TLS server. Every request of the client arrives, and no answer to one: what the server sends
/// after its part of the handshake is withheld.
struct LostAnswers: Sendable {
    let port: Int

    /// Has the port while `body` runs.
    static func with(to target: Int, _ body: (LostAnswers) async throws -> Void) async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        let listener = try await ServerBootstrap(group: group)
            .childChannelInitializer { here in
                ClientBootstrap(group: here.eventLoop)
                    .channelInitializer { there in
                        there.eventLoop.makeCompletedFuture {
                            let (loss, bound) = (Loss(), NIOLoopBound(here, eventLoop: there.eventLoop))
                            try there.pipeline.syncOperations.addHandler(Answers(to: here, loss))
                            try bound.value.pipeline.syncOperations.addHandler(Requests(to: there, loss))
                        }
                    }
                    .connect(host: "127.0.0.1", port: target).map { _ in }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try required(listener.localAddress?.port)
        try await withCleanUp {
            try await body(LostAnswers(port: port))
        } cleanUp: {
            try await listener.close()
        }
    }

    /// Confined to the event loop of both channels.
    private final class Loss {
        /// The client's first message is its hello. Its second one follows the server's part of the handshake.
        var messages = 0
        var isLost: Bool { messages > 1 }
    }

    private final class Requests: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let there: any Channel
        private let loss: Loss

        init(to there: any Channel, _ loss: Loss) { (self.there, self.loss) = (there, loss) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            loss.messages += 1
            there.writeAndFlush(unwrapInboundIn(data), promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { there.close(promise: nil) }
    }

    private final class Answers: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let here: any Channel
        private let loss: Loss

        init(to here: any Channel, _ loss: Loss) { (self.here, self.loss) = (here, loss) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !loss.isLost else { return }
            here.writeAndFlush(unwrapInboundIn(data), promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { here.close(promise: nil) }
    }
}
