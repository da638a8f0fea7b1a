import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import Service
import Testing

@testable import ServiceTesting

/// With which protocols and ciphers the HTTP/2 ports accept a connection.
@Suite(.timeLimit(.minutes(2)))
struct HandshakeTests {
    /// Completes the handshake, or throws.
    /// - Returns: the protocol that was agreed on.
    private func shakeHands(
        with test: TestService,
        at port: Int,
        _ change: (inout TLSConfiguration) -> Void,
    ) async throws -> String? {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(test.description.ca)
        tls.applicationProtocols = ["h2"]
        change(&tls)
        let context = try NIOSSLContext(configuration: tls)
        let done = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: String?.self)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = try NIOSSLClientHandler(context: context, serverHostname: nil)
                    try channel.pipeline.syncOperations.addHandlers(handler, HandshakeWait(done))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        defer { channel.close(promise: nil) }
        return try await done.futureResult.get()
    }

    @Test
    func `A client that offers HTTP/2 or no protocol is accepted; a client that offers only other protocols is not`()
        async throws
    {
        try await TestService.run { test in
            for port in [try test.port(\.provider), try test.port(\.courier)] {
                #expect(try await shakeHands(with: test, at: port) { _ in } == "h2")
                #expect(
                    try await shakeHands(with: test, at: port) { $0.applicationProtocols = ["http/1.1", "h2"] } == "h2")
                #expect(try await shakeHands(with: test, at: port) { $0.applicationProtocols = [] } == nil)
                await #expect(throws: (any Error).self) {
                    try await shakeHands(with: test, at: port) { $0.applicationProtocols = ["http/1.1"] }
                }
            }
        }
    }

    @Test func `With TLS 1.2 only authenticated encryption is allowed`() async throws {
        try await TestService.run { test in
            for port in [try test.port(\.provider), try test.port(\.courier)] {
                func shakeHands(_ ciphers: NIOTLSCipher...) async throws -> String? {
                    try await self.shakeHands(with: test, at: port) {
                        $0.maximumTLSVersion = .tlsv12
                        $0.cipherSuiteValues = ciphers
                    }
                }
                #expect(try await shakeHands(.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256) == "h2")
                #expect(try await shakeHands(.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256) == "h2")
                await #expect(throws: (any Error).self) {
                    try await shakeHands(.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, .TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA)
                }
            }
        }
    }
}

/// Reports how the handshake ended.
private final class HandshakeWait: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let done: EventLoopPromise<String?>

    init(_ done: EventLoopPromise<String?>) { self.done = done }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let agreed) = event as? TLSUserEvent { done.succeed(agreed) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        done.fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        done.fail(ChannelError.eof)
        context.fireChannelInactive()
    }
}
