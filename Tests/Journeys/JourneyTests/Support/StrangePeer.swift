import CommonTesting
import NIOCore
import NIOPosix
import NIOSSL
import Testing

@testable import ServiceTesting

/// A peer that does not speak HTTP/2: it connects, sends what a test tells it, and waits until the service closes the
/// connection.
struct StrangePeer: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// TLS with these protocols; nil for plain TCP.
    let protocols: [String]?
    let bytes: [UInt8]

    static let all = [
        StrangePeer(testDescription: "plain HTTP", protocols: nil, bytes: Array(http1.utf8)),
        StrangePeer(testDescription: "HTTP/1.1 over TLS", protocols: ["http/1.1"], bytes: Array(http1.utf8)),
        StrangePeer(testDescription: "HTTP/1.1 over TLS without ALPN", protocols: [], bytes: Array(http1.utf8)),
        StrangePeer(testDescription: "garbage", protocols: nil, bytes: garbage),
        StrangePeer(testDescription: "garbage over TLS", protocols: ["h2"], bytes: garbage),
        StrangePeer(testDescription: "silence", protocols: nil, bytes: []),
        StrangePeer(testDescription: "silence over TLS", protocols: ["h2"], bytes: []),
        StrangePeer(testDescription: "the preface alone", protocols: ["h2"], bytes: Array(preface.utf8)),
        StrangePeer(testDescription: "half a ClientHello", protocols: nil, bytes: [22, 3, 1, 2, 0, 1, 0, 1, 252, 3]),
    ]

    private static let http1 = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    /// RFC 9113, 3.4, without the SETTINGS that follow.
    private static let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    private static let garbage = (0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ 13) }

    /// Connects and sends.
    /// - Returns: the connection, and its local port.
    func connect(to address: String) async throws -> (channel: any Channel, port: Int) {
        let parts = address.split(separator: ":")
        guard parts.count == 2, let port = Int(parts[1]) else { throw UnexpectedOutput(description: address) }
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        // A closed channel has no address any more.
        let ownPort = eventLoop.makePromise(of: Int.self)
        let channel = try await ClientBootstrap(group: eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let protocols {
                        var tls = TLSConfiguration.makeClientConfiguration()
                        tls.certificateVerification = .none
                        tls.applicationProtocols = protocols
                        let handler = try NIOSSLClientHandler(
                            context: try NIOSSLContext(configuration: tls), serverHostname: nil)
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                    try channel.pipeline.syncOperations.addHandler(Ignorance(ownPort))
                }
            }
            .connect(host: String(parts[0]), port: port).get()
        // If the connection is closed already, there is nothing to send.
        if !bytes.isEmpty { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }
        return (channel, try await ownPort.futureResult.get())
    }
}

/// Drops everything that arrives, and ignores errors.
private final class Ignorance: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let port: EventLoopPromise<Int>

    init(_ port: EventLoopPromise<Int>) { self.port = port }

    func channelActive(context: ChannelHandlerContext) { port.succeed(context.localAddress?.port ?? 0) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
