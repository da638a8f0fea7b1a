import Connections
import NIOCore
import NIOSSL

/// Collects the bytes that the service sends. Confined to its event loop.
final class LegacyReader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let eventLoop: any EventLoop
    private var bytes = ByteBuffer()
    private let wanted: Int
    private var promise: EventLoopPromise<LegacyConnection.Answer>?
    private var deadline: Scheduled<Void>?
    private var isOver = false
    private var failure: (any Error)?

    init(limit: Int, eventLoop: any EventLoop) {
        wanted = limit
        self.eventLoop = eventLoop
    }

    func read(within limit: TimeAmount, _ promise: EventLoopPromise<LegacyConnection.Answer>) {
        self.promise = promise
        let reader = NIOLoopBound(self, eventLoop: eventLoop)
        deadline = eventLoop.scheduleTask(in: limit) { reader.value.finish("it did not answer in time", isLate: true) }
        answerIfDone()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Bytes beyond the limit are dropped, so that the other side cannot fill our memory.
        guard bytes.readableBytes < wanted else { return }
        var read = unwrapInboundIn(data)
        bytes.writeBuffer(&read)
        answerIfDone()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        failure = failure ?? error
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        isOver = true
        answerIfDone()
        context.fireChannelInactive()
    }

    private func answerIfDone() {
        guard isOver || bytes.readableBytes >= wanted else { return }
        finish(failure.map(ConnectionFailure.clientCause(of:)) ?? "it was closed")
    }

    private func finish(_ cause: String, isLate: Bool = false) {
        deadline?.cancel()
        let isWhole = isOver && failure == nil
        let hasNoTLS = if case NIOSSLError.handshakeFailed? = failure { true } else { false }
        promise?.succeed(
            LegacyConnection.Answer(bytes: bytes, isWhole: isWhole, isLate: isLate, hasNoTLS: hasNoTLS, cause: cause))
        promise = nil
    }
}
