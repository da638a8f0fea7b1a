import Foundation
import HTTP2
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

@testable import APNSProvider

/// A server over real TLS on loopback that does to each request what a script says.
final class ScriptedServer: Sendable {
    typealias Script = @Sendable (ScriptedRequest, ScriptedConnection) -> Void

    struct Options: Sendable {
        /// The addresses it listens on, all with one port.
        var hosts = ["127.0.0.1"]
        /// Announced in the first SETTINGS.
        var streams = 1_000
        var asksForCertificate = false
    }

    let port: Int
    let log: ServerLog

    private init(port: Int, log: ServerLog) {
        self.port = port
        self.log = log
    }

    static func run(
        _ options: Options = Options(),
        script: @escaping Script,
        _ body: (ScriptedServer) async throws -> Void,
    ) async throws {
        let log = ServerLog()
        let tls = try TestAuthority.serverContext(asksForCertificate: options.asksForCertificate)
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if options.asksForCertificate {
                        // Whose certificate it is, is another's test.
                        try pipeline.addHandler(
                            NIOSSLServerHandler(
                                context: tls,
                                customVerificationCallback: { certificates, promise in
                                    promise.succeed(certificates.isEmpty ? .failed : .certificateVerified)
                                }))
                    } else {
                        try pipeline.addHandler(NIOSSLServerHandler(context: tls))
                    }
                    let number = log.opened(at: channel.localAddress?.ipAddress ?? "")
                    try pipeline.addHandler(FrameRecorder(connection: number, log: log))
                    var configuration = HTTP2Configuration()
                    configuration.announcedConcurrentStreams = options.streams
                    let application = ScriptedConnection(number: number, channel: channel, log: log, script: script)
                    try pipeline.addHandler(
                        HTTP2Session(role: .server, configuration: configuration, application: application))
                }
            }
        var listeners: [any Channel] = []
        var port = 0
        for host in options.hosts {
            let listener = try await bootstrap.bind(host: host, port: port).get()
            port = listener.localAddress?.port ?? 0
            listeners.append(listener)
        }
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(ScriptedServer(port: port, log: log)))
        } catch {
            result = .failure(error)
        }
        for listener in listeners { try await listener.close() }
        try result.get()
    }

    func environment(host: String = "127.0.0.1") throws -> APNSEnvironment {
        APNSEnvironment(host: host, port: port, authority: .pem(try TestAuthority.rootPEM()))
    }

    /// Runs with a client of this server.
    func withClient(
        credentials: ProviderCredentials? = nil,
        host: String = "127.0.0.1",
        _ change: (inout ProviderClient.Configuration) -> Void = { _ in },
        internals: ProviderClient.Internals = .init(),
        _ body: (ProviderClient) async throws -> Void,
    ) async throws {
        var configuration = ProviderClient.Configuration()
        configuration.tokenStore = InMemoryProviderTokenStore()
        change(&configuration)
        let client = try ProviderClient(
            credentials: try credentials ?? TestAuthority.credentials(), environment: environment(host: host),
            configuration: configuration, logger: .init(label: "test") { _ in SwiftLogNoOpLogHandler() },
            internals: internals)
        do {
            try await body(client)
        } catch {
            await client.shutDown()
            throw error
        }
        await client.shutDown()
    }
}

/// One request as it came.
struct ScriptedRequest: Sendable {
    /// Counted over all connections, from 0.
    var number = 0
    /// The connection's number, from 0.
    var connection = 0
    var stream = StreamID.none
    var headers: [String: String] = [:]
    var body = ""

    var path: String { headers[":path"] ?? "" }
    var token: String { headers["authorization"] ?? "" }
}

/// One connection on the server's side. Confined to its event loop.
final class ScriptedConnection: HTTP2Application {
    let number: Int
    let channel: any Channel
    private let log: ServerLog
    private let script: ScriptedServer.Script
    private(set) var session: HTTP2Session?
    private var requests: [StreamID: ScriptedRequest] = [:]
    private var roundTrips: [UInt64: () -> Void] = [:]
    private var pings: UInt64 = 0
    /// Requests that were not answered yet.
    private(set) var open: [StreamID] = []

    init(number: Int, channel: any Channel, log: ServerLog, script: @escaping ScriptedServer.Script) {
        self.number = number
        self.channel = channel
        self.log = log
        self.script = script
    }

    // MARK: What scripts do

    /// Status 200, or a rejection.
    func answer(_ stream: StreamID, status: Int = 200, reason: String? = nil, timestamp: UInt64? = nil) {
        let more = timestamp.map { #","timestamp":\#($0)"# } ?? ""
        answer(stream, status: status, body: reason.map { #"{"reason":"\#($0)"\#(more)}"# })
    }

    func answer(_ stream: StreamID, status: Int, id: String? = "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab", body: String?) {
        var block = HeaderBlock()
        block.append(":status", String(status))
        if let id { block.append("apns-id", id, indexing: .never) }
        open.removeAll { $0 == stream }
        session?.respond(stream, block, body: body.map { ByteBuffer(string: $0) })
        session?.flush()
    }

    /// The beginning of an answer.
    func begin(_ stream: StreamID) {
        var block = HeaderBlock()
        block.append(":status", "200")
        session?.sendHeaders(stream, block, endStream: false)
        session?.flush()
    }

    func reset(_ stream: StreamID, _ code: HTTP2ErrorCode) {
        open.removeAll { $0 == stream }
        session?.reset(stream, code)
        session?.flush()
    }

    func goAway(lastStream: StreamID? = nil, reason: String) {
        session?.goAway(lastStream: lastStream, .noError, debugData: Array(#"{"reason":"\#(reason)"}"#.utf8))
        session?.flush()
    }

    func announce(_ streams: Int) {
        session?.announce(concurrentStreams: streams)
        session?.flush()
    }

    func close() { channel.close(promise: nil) }

    /// Calls back once everything that the client had sent by now has arrived.
    func afterRoundTrip(_ body: @escaping () -> Void) {
        pings += 1
        roundTrips[pings] = body
        session?.ping(pings)
        session?.flush()
    }

    // MARK: HTTP2Application

    func sessionBecameActive(_ session: HTTP2Session) { self.session = session }

    func headersBegan(_ stream: StreamID) {
        requests[stream] = ScriptedRequest(connection: number, stream: stream)
    }

    func headerReceived(_ stream: StreamID, name: Span<UInt8>, value: Span<UInt8>) {
        let name = name.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        requests[stream]?.headers[name] = value.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        requests[stream]?.body += bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    func streamEnded(_ stream: StreamID) {
        guard let request = requests.removeValue(forKey: stream) else { return }
        open.append(stream)
        let told = log.received(request, open: open.count)
        script(told, self)
    }

    func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) {
        open.removeAll { $0 == stream }
        requests[stream] = nil
        if error == .cancel { log.cancelled() }
    }

    func pingAcknowledged(_ payload: UInt64) { roundTrips.removeValue(forKey: payload)?() }

    func sessionClosed(_ end: SessionEnd) {
        session = nil
        log.closed(number)
    }
}
