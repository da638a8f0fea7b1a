import NIOCore
import NIOPosix
import NIOSSL
import Trust

/// A provider that sends exactly what a test tells it, and records everything it receives.
final class LegacyClient: Sendable {
    private let channel: any Channel
    private let recorder: NIOLoopBound<ByteRecorder>
    private let socket: NIOLoopBound<SocketEnd>

    /// - Parameters:
    ///   - limit: the number of bytes after which it stops reading; the rest stays in the system's buffers.
    ///   - closes: whether it closes its side after the service has closed its own.
    static func connect(
        port: Int,
        tls: TLSConfiguration,
        serverName: String? = nil,
        limit: Int = .max,
        closes: Bool = true,
    ) async throws -> LegacyClient {
        let context = try NIOSSLContext(configuration: tls)
        var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.allowRemoteHalfClosure, value: !closes)
        // Use a small buffer, so that the end of a long list does not reach the client's system.
        if limit < .max { bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: 4096) }
        return try await bootstrap.connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                let handler = try NIOSSLClientHandler(context: context, serverHostname: serverName)
                let (socket, recorder) = (SocketEnd(), ByteRecorder(channel.eventLoop, limit: limit))
                try channel.pipeline.syncOperations.addHandlers(socket, handler, recorder)
                return LegacyClient(
                    channel: channel,
                    recorder: NIOLoopBound(recorder, eventLoop: channel.eventLoop),
                    socket: NIOLoopBound(socket, eventLoop: channel.eventLoop),
                )
            }
        }
    }

    private init(channel: any Channel, recorder: NIOLoopBound<ByteRecorder>, socket: NIOLoopBound<SocketEnd>) {
        self.channel = channel
        self.recorder = recorder
        self.socket = socket
    }

    /// Writes all bytes at once.
    func write(_ bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }

    /// Returns everything that arrived until the service closed the connection.
    func readToEnd() async throws -> [UInt8] {
        try await channel.eventLoop.flatSubmit { [recorder] in recorder.value.whenEnded.futureResult }.get()
    }

    /// Returns the first bytes, once there are this many.
    func read(_ count: Int) async throws -> [UInt8] {
        try await channel.eventLoop.flatSubmit { [recorder] in recorder.value.whenReceived(count) }.get()
    }

    /// The error of the connection in the library's words; nil if there is none.
    func failure() async throws -> String? {
        try await channel.eventLoop.submit { [recorder] in recorder.value.failure.map { "\($0)" } }.get()
    }

    /// Closes the connection in an orderly way.
    func close() async { try? await channel.close() }

    /// Ends the connection without close_notify. If bytes are unread, the system sends a reset.
    func breakOff() async throws {
        try await channel.eventLoop.submit { [socket] in socket.value.context?.close(promise: nil) }.get()
        try? await channel.closeFuture.get()
    }
}

/// Closes the socket without TLS.
final class SocketEnd: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    var context: ChannelHandlerContext?
    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }
}

/// Records what arrives. Confined to its event loop.
final class ByteRecorder: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    let whenEnded: EventLoopPromise<[UInt8]>
    private(set) var failure: (any Error)?
    private let limit: Int
    private var isSecured = false
    private var bytes: [UInt8] = []
    private var waiting: (count: Int, promise: EventLoopPromise<[UInt8]>)?
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop, limit: Int) {
        self.eventLoop = eventLoop
        self.limit = limit
        whenEnded = eventLoop.makePromise()
    }

    func whenReceived(_ count: Int) -> EventLoopFuture<[UInt8]> {
        let promise = eventLoop.makePromise(of: [UInt8].self)
        waiting = (count, promise)
        answer(isOver: false)
        return promise.futureResult
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        isSecured = true
        context.fireUserInboundEventTriggered(event)
    }

    func read(context: ChannelHandlerContext) {
        if bytes.count < limit || !isSecured { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        bytes.append(contentsOf: unwrapInboundIn(data).readableBytesView)
        answer(isOver: false)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        failure = failure ?? error
    }

    func channelInactive(context: ChannelHandlerContext) {
        answer(isOver: true)
        whenEnded.succeed(bytes)
    }

    private func answer(isOver: Bool) {
        guard let waiting, isOver || bytes.count >= waiting.count else { return }
        self.waiting = nil
        waiting.promise.succeed(Array(bytes.prefix(waiting.count)))
    }
}
