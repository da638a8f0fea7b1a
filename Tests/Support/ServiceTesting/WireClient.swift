import Foundation
import HTTP2
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A client that sends requests exactly as a test tells it, and records everything it receives.
final class WireClient: Sendable {
    private let channel: any Channel
    private let recorder: NIOLoopBound<WireRecorder>

    /// A value of `apns-collapse-id` that stands for two bytes that are not UTF-8.
    static let notText = "not UTF-8"

    /// The answer to one request.
    struct Answer: Sendable {
        var status = 0
        var headers: [String: [String]] = [:]
        var body = ""
        var error: HTTP2ErrorCode?

        /// The value of a header that occurs once.
        subscript(_ name: String) -> String? { headers[name]?.first }

        /// The `reason` in the body; nil if there is none.
        var reason: String? {
            guard let start = body.range(of: #""reason":""#) else { return nil }
            return String(body[start.upperBound...].prefix { $0 != "\"" })
        }
    }

    struct GoAway: Sendable, Equatable {
        let lastStream: UInt32
        let debugData: String
    }

    /// A request was not answered.
    struct Unanswered: Error {
        let stream: UInt32
        let code: HTTP2ErrorCode
    }

    /// - Parameters:
    ///   - windowBytes: how much of an answer's body the service may send before it is read.
    ///   - certificate: the client's certificate.
    ///   - literals: the encoding of headers that stay out of the table. The Guide asks for the default (2.3.4.1).
    ///   - opening: bytes that are sent before the TLS handshake.
    ///   - protocols: what it offers in the TLS handshake.
    ///   - serverName: the name that it asks for in the TLS handshake, which the server's certificate has to have.
    ///   - burst: requests that are sent right after the preface, before the service can have sent anything.
    static func connect(
        port: Int,
        authorityFile: String,
        certificate: ClientCertificate? = nil,
        windowBytes: Int = 65_535,
        opening: [UInt8] = [],
        burst: [[(String, String)]] = [],
        literals: FieldForm = .withoutIndexing,
        protocols: [String] = ["h2"],
        serverName: String? = nil,
        checksCertificates: Bool = true,
    ) async throws -> WireClient {
        var tls = TLSConfiguration.makeClientConfiguration()
        if !checksCertificates { tls.certificateVerification = .none }
        tls.applicationProtocols = protocols
        tls.trustRoots = .file(authorityFile)
        if let certificate {
            let key = Array(certificate.keyPEM.utf8)
            tls.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(certificate.chainPEM.utf8))
                .map { .certificate($0) }
            tls.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: key, format: .pem))
        }
        let context = try NIOSSLContext(configuration: tls)
        let recorders = Mutex<NIOLoopBound<WireRecorder>?>(nil)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if !opening.isEmpty { try channel.pipeline.syncOperations.addHandler(Opening(opening)) }
                    let handler = try NIOSSLClientHandler(context: context, serverHostname: serverName)
                    try channel.pipeline.syncOperations.addHandler(handler)
                    let recorder = WireRecorder(burst: burst, literals: literals, eventLoop: channel.eventLoop)
                    recorders.withLock { $0 = NIOLoopBound(recorder, eventLoop: channel.eventLoop) }
                    var configuration = HTTP2Configuration()
                    configuration.limits.streamWindowBytes = windowBytes
                    configuration.limits.checksSentFields = false
                    let session = HTTP2Session(role: .client, configuration: configuration, application: recorder)
                    try channel.pipeline.syncOperations.addHandler(session)
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return WireClient(channel: channel, recorder: try required(recorders.withLock { $0 }))
    }

    /// Sends bytes before anything else.
    private final class Opening: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let bytes: [UInt8]

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        func channelActive(context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            context.fireChannelActive()
        }
    }

    private init(channel: any Channel, recorder: NIOLoopBound<WireRecorder>) {
        self.channel = channel
        self.recorder = recorder
    }

    /// Waits for a value. At a test's limit of time its task is cancelled, and closing the connection ends the wait.
    private func wait<Value: Sendable>(for value: EventLoopFuture<Value>) async throws -> Value {
        try await withTaskCancellationHandler {
            try await value.get()
        } onCancel: { [channel] in
            channel.close(promise: nil)
        }
    }

    /// Sends a request and waits for its answer.
    func send(_ headers: [(String, String)], body: String = #"{"aps":{"alert":"Hello"}}"#) async throws -> Answer {
        let answer = channel.eventLoop.flatSubmit { [recorder, channel] in
            recorder.value.send(headers, body: body, promise: channel.eventLoop.makePromise(of: Answer.self))
        }
        return try await wait(for: answer)
    }

    /// Sends the bytes of a frame unchanged.
    func write(_ frame: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: frame)) }

    /// A request whose headers were sent, but not its body.
    struct Begun: Sendable {
        fileprivate let client: WireClient
        fileprivate let finishing: @Sendable () -> EventLoopFuture<Answer>
        fileprivate let answering: EventLoopFuture<Answer>

        /// Waits for the answer without sending the body.
        func answer() async throws -> Answer { try await client.wait(for: answering) }

        /// Sends the body and waits for the answer.
        func finish() async throws -> Answer { try await client.wait(for: finishing()) }
    }

    /// Sends a request's headers, and waits until the peer has read them.
    /// - Parameter ends: whether the request has no body.
    func begin(
        _ headers: [(String, String)], body: String = #"{"aps":{"alert":"Hello"}}"#, ends: Bool = false,
    ) async throws -> Begun {
        let (stream, answer) = try await channel.eventLoop.submit { [recorder, channel] in
            try recorder.value.begin(headers, endStream: ends, promise: channel.eventLoop.makePromise(of: Answer.self))
        }.get()
        // Frames are read in their order, so after the acknowledgement the headers were read. A second request would not do:
        // before trust the peer allows a single stream.
        let acknowledgement = channel.eventLoop.flatSubmit { [recorder, channel] in
            recorder.value.ping(channel.eventLoop.makePromise(of: Void.self))
        }
        try await wait(for: acknowledgement)
        let finishing = { @Sendable [recorder, channel] in
            channel.eventLoop.flatSubmit {
                recorder.value.finish(stream, body: body)
                return answer
            }
        }
        return Begun(client: self, finishing: finishing, answering: answer)
    }

    /// A request that stays open.
    struct Open: Sendable {
        fileprivate let client: WireClient
        let stream: StreamID
        fileprivate let answering: EventLoopFuture<Answer>

        /// Sends a piece of the body.
        func write(_ text: String) async throws { try await write(Array(text.utf8)) }

        /// Sends a piece of the body that need not be text.
        func write(_ bytes: [UInt8]) async throws {
            try await client.channel.eventLoop.submit { [recorder = client.recorder, stream] in
                recorder.value.write(stream, bytes)
            }.get()
        }

        /// Ends the body, and waits for the end of the answer.
        func finish() async throws -> Answer {
            try await client.channel.eventLoop.submit { [recorder = client.recorder, stream] in
                recorder.value.finish(stream, body: "")
            }.get()
            return try await answer()
        }

        /// Waits for the end of the answer.
        func answer() async throws -> Answer { try await client.wait(for: answering) }

        /// Waits for the next line of the answer; nil if the answer ends first.
        func nextLine() async throws -> String? {
            let line = client.channel.eventLoop.flatSubmit {
                [recorder = client.recorder, stream, channel = client.channel] in
                recorder.value.nextLine(stream, channel.eventLoop.makePromise(of: String?.self))
            }
            return try await client.wait(for: line)
        }
    }

    /// Sends a request's headers. With `endStream` this is the whole request.
    func open(_ headers: [(String, String)], endStream: Bool) async throws -> Open {
        let (stream, answer) = try await channel.eventLoop.submit { [recorder, channel] in
            try recorder.value.begin(
                headers, endStream: endStream, promise: channel.eventLoop.makePromise(of: Answer.self))
        }.get()
        return Open(client: self, stream: stream, answering: answer)
    }

    /// Whether the peer answered a request; false if it ended the connection.
    func isServed(_ headers: [(String, String)]) async -> Bool {
        // The service's log has the reason.
        let answer = try? await send(headers)
        return (answer?.status ?? 0) != 0
    }

    /// The answers to the burst.
    func burst() async throws -> [Answer] {
        let answers = channel.eventLoop.flatSubmit { [recorder, channel] in
            EventLoopFuture.whenAllSucceed(recorder.value.burstAnswers, on: channel.eventLoop)
        }
        return try await wait(for: answers)
    }

    /// Opens streams and resets each at once, until the peer ends the connection.
    func openAndReset(_ headers: [(String, String)], times: Int) async throws {
        for _ in 0..<times {
            let isOpen = try await channel.eventLoop.submit { [recorder] in
                recorder.value.openAndReset(headers)
            }.get()
            guard isOpen else { return }
        }
    }

    /// Waits until the peer's SETTINGS have announced this number of streams.
    func announced(_ streams: Int) async throws {
        let announcement = channel.eventLoop.flatSubmit { [recorder, channel] in
            recorder.value.whenAnnounced(streams, channel.eventLoop.makePromise(of: Void.self))
        }
        try await wait(for: announcement)
    }

    /// All numbers of streams that the peer has announced.
    func announcements() async throws -> [Int] {
        try await channel.eventLoop.submit { [recorder] in recorder.value.announcements }.get()
    }

    /// Waits for the first GOAWAY.
    func goneAway() async throws {
        let end = channel.eventLoop.flatSubmit { [recorder, channel] in
            recorder.value.whenGoneAway(channel.eventLoop.makePromise(of: Void.self))
        }
        try await wait(for: end)
    }

    /// Waits for the end of the connection.
    /// - Returns: the debug data of each GOAWAY.
    func goAways() async throws -> [String] { try await goAwayFrames().map(\.debugData) }

    /// Waits for the end of the connection.
    func goAwayFrames() async throws -> [GoAway] {
        try await wait(for: channel.closeFuture)
        return try await channel.eventLoop.submit { [recorder] in recorder.value.goAways }.get()
    }

    /// Whether it accepts requests: it is open, and no GOAWAY has come.
    func isOpen() async throws -> Bool {
        try await channel.eventLoop.submit { [recorder] in recorder.value.isOpen }.get()
    }

    /// The server's certificate, in DER.
    func serverCertificate() async throws -> [UInt8] {
        try await channel.eventLoop.submit { [channel] in
            try required(channel.pipeline.syncOperations.nioSSL_peerCertificate()).toDERBytes()
        }.get()
    }

    func close() async {
        try? await channel.close()
    }
}
