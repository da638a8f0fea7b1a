import Credentials
import Crypto
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import Notifications
import Testing
import Trust

@Suite("A TLS handshake with issued certificates")
struct HandshakeTests {
    private func certificates(_ pem: String) throws -> [NIOSSLCertificateSource] {
        try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)).map { .certificate($0) }
    }

    private func key(_ pem: String) throws -> NIOSSLPrivateKeySource {
        .privateKey(try NIOSSLPrivateKey(bytes: Array(pem.utf8), format: .pem))
    }

    /// Reads the peer's identity when the handshake has ended, or its failure.
    private final class PeerReader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let promise: EventLoopPromise<Void>

        init(_ promise: EventLoopPromise<Void>) { self.promise = promise }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case .handshakeCompleted(_)? = event as? TLSUserEvent { promise.succeed() }
            context.fireUserInboundEventTriggered(event)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            promise.fail(error)
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            promise.fail(ChannelError.eof)
        }
    }

    /// Connects to a server that requires a device's certificate.
    ///
    /// - Returns: the identity that the server found, or its failure.
    private func connect(
        _ authority: CertificateAuthority,
        chainPEM: String,
        keyPEM: String,
        hostname: String?,
    ) async throws -> Result<PeerIdentity, any Error> {
        let server = try authority.serverChain(names: ["push.example.com"], now: now)
        var serverConfiguration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try certificates(server.chainPEM), privateKey: try key(#require(server.keyPEM)))
        serverConfiguration.certificateVerification = .noHostnameVerification
        serverConfiguration.trustRoots = .certificates(
            try NIOSSLCertificate.fromPEMBytes(Array(authority.rootPEM.utf8)))
        let serverContext = try NIOSSLContext(configuration: serverConfiguration)

        var clientConfiguration = TLSConfiguration.makeClientConfiguration()
        clientConfiguration.trustRoots = .certificates(
            try NIOSSLCertificate.fromPEMBytes(Array(authority.rootPEM.utf8)))
        clientConfiguration.certificateChain = try certificates(chainPEM)
        clientConfiguration.privateKey = try key(keyPEM)
        let clientContext = try NIOSSLContext(configuration: clientConfiguration)

        let group = MultiThreadedEventLoopGroup.singleton
        let loop = group.next()
        let now = now
        let peer = loop.makePromise(of: PeerIdentity.self)
        let done = loop.makePromise(of: Void.self)
        done.futureResult.whenFailure { peer.fail($0) }
        let listener = try await ServerBootstrap(group: loop)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = NIOSSLServerHandler(
                        context: serverContext,
                        customVerificationCallback: { chain, promise in
                            do {
                                let identity = try authority.verifyPeer(
                                    chain: chain.map { try $0.toDERBytes() }, as: .device, now: now)
                                peer.succeed(identity)
                                promise.succeed(.certificateVerified)
                            } catch {
                                peer.fail(error)
                                promise.succeed(.failed)
                            }
                        })
                    try channel.pipeline.syncOperations.addHandlers([handler, PeerReader(done)])
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let clientDone = loop.makePromise(of: Void.self)
        let client = try await ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = try NIOSSLClientHandler(context: clientContext, serverHostname: hostname)
                    try channel.pipeline.syncOperations.addHandlers([handler, PeerReader(clientDone)])
                }
            }
            .connect(to: #require(listener.localAddress)).get()
        clientDone.futureResult.whenFailure { peer.fail($0) }
        let result: Result<PeerIdentity, any Error>
        do {
            let identity = try await peer.futureResult.get()
            try await clientDone.futureResult.get()
            try await done.futureResult.get()
            result = .success(identity)
        } catch {
            result = .failure(error)
            clientDone.fail(error)
            done.fail(error)
        }
        // This fails if the server has already closed the connection.
        try? await client.close()
        try await listener.close()
        return result
    }

    /// BoringSSL checks the certificates' dates with the machine's clock, so they are made at the present time.
    private let now = Date().timeIntervalSince1970

    @Test(arguments: [
        "push.example.com", "localhost",
    ])
    func `The server identifies the device, and the device the server by its name`(hostname: String) async throws {
        let authority = try Fixture.authority(now: now)
        let key = P256.Signing.PrivateKey()
        let issued = try authority.deviceChain(request: Fixture.request(key), now: now)
        let identity = try await connect(
            authority, chainPEM: issued.chainPEM, keyPEM: key.pemRepresentation, hostname: hostname
        ).get()
        guard case .device(let device) = identity else {
            Issue.record("not a device")
            return
        }
        #expect(device.serial == issued.serial)
    }

    @Test
    func `A device of another authority is refused in the handshake`() async throws {
        let authority = try Fixture.authority(now: now)
        let key = P256.Signing.PrivateKey()
        let issued = try Fixture.authority(now: now).deviceChain(request: Fixture.request(key), now: now)
        let result = try await connect(
            authority, chainPEM: issued.chainPEM, keyPEM: key.pemRepresentation, hostname: "localhost")
        let error = #expect(throws: TrustError.self) { try result.get() }
        #expect(error?.code == .untrusted)
    }
}
