import CommonTesting
package import APNSProvider
package import HTTP2
package import NIOCore
import NIOPosix
import NIOSSL

/// A server over real TLS on loopback that handles each request as a script says.
package final class ScriptedServer: Sendable {
    package typealias Script = @Sendable (ScriptedRequest, ScriptedConnection) -> Void

    /// Options that differ between tests.
    package struct Options: Sendable {
        /// The addresses that it listens on, all with the same port.
        package var hosts = ["127.0.0.1"]
        /// The number of streams in the first SETTINGS.
        package var streams = 1_000
        /// Whether clients need a certificate. Any certificate will do.
        package var asksForCertificate = false
        /// What it chooses from in the TLS handshake (ALPN).
        package var protocols = ["h2"]

        package init() {}
    }

    /// The port that the system chose. It is the same on each address.
    package let port: Int
    /// What the server has seen.
    package let log: ServerLog

    private init(port: Int, log: ServerLog) {
        self.port = port
        self.log = log
    }

    /// Runs a server while `body` runs.
    /// - Parameter script: called with each request, on the event loop of its connection.
    package static func run(
        _ options: Options = Options(),
        script: @escaping Script,
        _ body: (ScriptedServer) async throws -> Void,
    ) async throws {
        let log = ServerLog()
        let tls = try TestAuthority.serverContext(
            asksForCertificate: options.asksForCertificate, protocols: options.protocols)
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if options.asksForCertificate {
                        // Accept any certificate: other tests check whose it is.
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
                    configuration.limits.announcedConcurrentStreams = options.streams
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
        try await withCleanUp {
            try await body(ScriptedServer(port: port, log: log))
        } cleanUp: {
            for listener in listeners { try await listener.close() }
        }
    }

    /// The server's address as an environment for a client.
    package func environment(host: String = "127.0.0.1") throws -> APNSEnvironment {
        APNSEnvironment(host: host, port: port, authority: .pem(try TestAuthority.rootPEM()))
    }
}

/// One request.
package struct ScriptedRequest: Sendable {
    /// The request's number over all connections, from 0.
    package var number = 0
    /// The connection's number, from 0.
    package var connection = 0
    package var stream = StreamID.connection
    package var headers: [String: String] = [:]
    package var body = ""

    package var path: String { headers[":path"] ?? "" }
    package var token: String { headers["authorization"] ?? "" }
}

/// One connection on the server's side. Confined to its event loop.
package final class ScriptedConnection: HTTP2Application {
    package let number: Int
    package let channel: any Channel
    private let log: ServerLog
    private let script: ScriptedServer.Script
    package private(set) var session: HTTP2Session?
    private var requests: [StreamID: ScriptedRequest] = [:]
    private var roundTrips: [UInt64: () -> Void] = [:]
    private var pings: UInt64 = 0
    /// The requests without an answer.
    package private(set) var open: [StreamID] = []

    init(number: Int, channel: any Channel, log: ServerLog, script: @escaping ScriptedServer.Script) {
        self.number = number
        self.channel = channel
        self.log = log
        self.script = script
    }

    // MARK: What scripts do

    /// Answers with status 200, or with a rejection.
    package func answer(_ stream: StreamID, status: Int = 200, reason: String? = nil, timestamp: UInt64? = nil) {
        let more = timestamp.map { #","timestamp":\#($0)"# } ?? ""
        answer(stream, status: status, body: reason.map { #"{"reason":"\#($0)"\#(more)}"# })
    }

    /// Answers with any status and body, with or without an identifier.
    package func answer(
        _ stream: StreamID,
        status: Int,
        id: String? = "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab",
        uniqueID: String? = nil,
        retryAfter: Int? = nil,
        body: String?,
    ) {
        var block = FieldList()
        block.append(":status", String(status))
        if let id { block.append("apns-id", id, .neverIndexed) }
        if let uniqueID { block.append("apns-unique-id", uniqueID, .neverIndexed) }
        if let retryAfter { block.append("retry-after", "\(retryAfter)") }
        open.removeAll { $0 == stream }
        session?.respond(stream, block, body: body.map { ByteBuffer(string: $0) })
        session?.flush()
    }

    /// Sends only the beginning of an answer.
    package func begin(_ stream: StreamID) {
        var block = FieldList()
        block.append(":status", "200")
        session?.sendHeaders(stream, block, endStream: false)
        session?.flush()
    }

    /// Resets the stream.
    package func reset(_ stream: StreamID, _ code: HTTP2ErrorCode) {
        open.removeAll { $0 == stream }
        session?.reset(stream, code)
        session?.flush()
    }

    /// Ends the connection with the reason in JSON, as the service does (Guide, 2.3.3.2).
    /// - Parameter lastStream: the last processed stream; by default the last that has come.
    package func goAway(lastStream: StreamID? = nil, reason: String) {
        goAway(lastStream: lastStream, debugData: #"{"reason":"\#(reason)"}"#)
    }

    /// Ends the connection with any text.
    package func goAway(lastStream: StreamID? = nil, debugData: String) {
        session?.goAway(lastStream: lastStream, .noError, debugData: Array(debugData.utf8))
        session?.flush()
    }

    /// Changes SETTINGS_MAX_CONCURRENT_STREAMS.
    package func announce(_ streams: Int) {
        session?.announce(concurrentStreams: streams)
        session?.flush()
    }

    /// Closes the connection without a message.
    package func close() { channel.close(promise: nil) }

    /// Calls back when everything that the client has sent so far has arrived.
    package func afterRoundTrip(_ body: @escaping () -> Void) {
        pings += 1
        roundTrips[pings] = body
        session?.ping(pings)
        session?.flush()
    }

    /// Calls back after some milliseconds. The client notices nothing of it, as it would of many PINGs.
    package func after(milliseconds: Int64, _ body: @escaping () -> Void) {
        channel.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(milliseconds), body)
    }

    // MARK: HTTP2Application

    package func sessionBecameActive(_ session: HTTP2Session) { self.session = session }

    package func fieldsReceived(_ stream: StreamID, _ fields: FieldList, endStream: Bool) {
        var request = ScriptedRequest(connection: number, stream: stream)
        fields.forEach { name, value, _ in
            let name = name.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            request.headers[name] = value.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        }
        requests[stream] = request
    }

    package func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        requests[stream]?.body += bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    package func streamEnded(_ stream: StreamID) {
        guard let request = requests.removeValue(forKey: stream) else { return }
        open.append(stream)
        let told = log.received(request, open: open.count)
        script(told, self)
    }

    package func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) {
        open.removeAll { $0 == stream }
        requests[stream] = nil
        if error == .cancel { log.cancelled() }
    }

    package func pingAcknowledged(_ payload: UInt64) { roundTrips.removeValue(forKey: payload)?() }

    package func sessionClosed(_ end: SessionEnd) {
        session = nil
        log.closed(number)
    }
}
