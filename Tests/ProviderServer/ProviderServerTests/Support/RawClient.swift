import NIOCore
import NIOPosix
import Notifications
import Synchronization

@testable import ServiceTesting

/// A connection on which a test sends bytes that no HTTP library would send.
final class RawClient {
    private let channel: any Channel
    private let arriving: AsyncStream<ByteBuffer>
    private let arrivals: Arrivals

    /// - Parameter reads: whether the client reads by itself; if not, only ``readOnce()`` reads.
    static func connect(_ provider: TestProvider, reads: Bool = true) async throws -> RawClient {
        let port = try required(provider.url.split(separator: ":").last.flatMap { Int($0) })
        let (stream, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
        let arrivals = Arrivals(continuation)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: reads)
            .channelOption(.socketOption(.so_rcvbuf), value: 65_536)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(arrivals)
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return RawClient(channel, stream, arrivals)
    }

    private init(_ channel: any Channel, _ stream: AsyncStream<ByteBuffer>, _ arrivals: Arrivals) {
        self.arrivals = arrivals
        self.channel = channel
        arriving = stream
    }

    /// Whether anything has arrived since the connection began.
    var hasArrivals: Bool { arrivals.hasAny.load(ordering: .acquiring) }

    func write(_ text: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: text)) }

    /// Returns the next bytes; nil if the connection has ended.
    func next() async -> String? {
        for await part in arriving { return String(buffer: part) }
        return nil
    }

    /// Returns everything that arrives until the connection ends.
    func readToEnd() async -> String {
        var text = ""
        while let part = await next() { text += part }
        return text
    }

    /// Returns one answer: its status line and headers, and its body, which has to have a length.
    func answer() async throws -> String {
        var text = ""
        while true {
            if let end = text.firstRange(of: "\r\n\r\n") {
                let match = text[..<end.lowerBound].firstMatch(of: /(?i)content-length: (\d+)/)
                let length = match.flatMap { Int($0.1) } ?? 0
                if text[end.upperBound...].utf8.count >= length { return text }
            }
            text += try required(await next())
        }
    }

    /// Reads what is there now, and waits for it.
    func readOnce() async -> String? {
        channel.read()
        return await next()
    }

    func close() async {
        // This fails if the server has closed the connection already.
        try? await channel.close()
    }
}

/// Passes on what arrives, until the connection ends.
private final class Arrivals: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    private let continuation: AsyncStream<ByteBuffer>.Continuation

    let hasAny = Atomic(false)

    init(_ continuation: AsyncStream<ByteBuffer>.Continuation) { self.continuation = continuation }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        hasAny.store(true, ordering: .releasing)
        continuation.yield(unwrapInboundIn(data))
    }

    func channelInactive(context: ChannelHandlerContext) { continuation.finish() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
