import CommonTesting
import Connections
import Foundation
import HTTPAPI
import HTTPAPIOverHTTP2
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import Trust

@testable import ServiceTesting

/// A server with TLS whose answers a test decides.
struct RequestServer: Sendable {
    let port: Int
    let authorityFile: String
    private let seen: Seen

    private final class Seen: Sendable {
        let channels = Mutex<[any Channel]>([])
        let malformed = Mutex(0)
    }

    static let limits = RequestLimits(request: .seconds(60), bodyBytesPerSecond: 1024, answer: .seconds(60))

    /// - Parameters:
    ///   - respond: answers the requests.
    ///   - body: the test.
    static func run(
        _ limits: RequestLimits = limits,
        idle: TimeAmount? = nil,
        respond: @escaping @Sendable (Request) async throws -> Response,
        _ body: (RequestServer) async throws -> Void,
    ) async throws {
        try await withTemporaryPath { path in
            try await run(limits, idle: idle, authorityFile: path, respond: respond, body)
        }
    }

    private static func run(
        _ limits: RequestLimits,
        idle: TimeAmount?,
        authorityFile: String,
        respond: @escaping @Sendable (Request) async throws -> Response,
        _ body: (RequestServer) async throws -> Void,
    ) async throws {
        let context = try makeTLS(authorityFile)
        let seen = Seen()
        let logger = Logger(label: "test") { _ in SilentLog() }
        let served = NegotiatedChannel(
            tls: context,
            http1: HTTP1Channel(responder: { request, writer, _ in
                let response = try await respond(request)
                try await writer.write(response: response.head, body: response.body)
            }),
            rules: RequestConnection.Rules(limits, refusalFields: [.vary: "everywhere"], idle: idle),
            times: ConnectionGuard.Times(
                first: .seconds(60), idle: .seconds(60), ending: .seconds(60), idleEnding: .seconds(60))
        ) { _ in
            seen.malformed.withLock { $0 += 1 }
        } respond: { request, _ in
            try await respond(request)
        }
        let tasks = ConnectionTasks()
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                seen.channels.withLock { $0.append(channel) }
                return served.setup(channel: channel, logger: logger).map { value in
                    tasks.add { await served.handle(value: value, logger: logger) }
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try required(server.localAddress?.port)
        try await withCleanUp {
            try await body(RequestServer(port: port, authorityFile: authorityFile, seen: seen))
        } cleanUp: {
            try? await server.close()
            for channel in seen.channels.withLock(\.self) { channel.close(promise: nil) }
            // Returns only if no task of a request is left.
            await tasks.finish()
        }
    }

    private static func makeTLS(_ authorityFile: String) throws -> NIOSSLContext {
        var generator = SystemRandomNumberGenerator()
        let now = Date().timeIntervalSince1970
        let authority = try CertificateAuthority.create(now: now, using: &generator)
        let issued = try authority.issueServerCertificate(names: [], now: now, using: &generator)
        try authority.rootPEM.write(toFile: authorityFile, atomically: true, encoding: .utf8)
        return try NIOSSLContext(
            configuration: ListenerTLS.configuration(
                chain: try NIOSSLCertificate.fromPEMBytes(Array(issued.chainPEM.utf8)),
                key: try NIOSSLPrivateKey(bytes: Array(required(issued.keyPEM).utf8), format: .pem),
                protocols: NegotiatedChannel.protocols))
    }

    /// How many malformed requests were counted.
    var malformed: Int { seen.malformed.withLock(\.self) }

    func connect(windowBytes: Int = 65_535, burst: [[(String, String)]] = []) async throws -> WireClient {
        try await WireClient.connect(
            port: port, authorityFile: authorityFile, windowBytes: windowBytes, burst: burst)
    }

    /// Tells all connections that the server ends.
    func quiesce() async throws {
        for channel in seen.channels.withLock(\.self) {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
    }

    static func fields(
        _ method: String = "GET", _ path: String = "/", _ more: [(String, String)] = []
    ) -> [(String, String)] {
        [(":method", method), (":scheme", "https"), (":authority", "example.com"), (":path", path)] + more
    }
}
