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

        /// The `reason` in the body; nil if there is none.
        var reason: String? {
            guard let start = body.range(of: #""reason":""#) else { return nil }
            return String(body[start.upperBound...].prefix { $0 != "\"" })
        }
    }

    /// - Parameters:
    ///   - windowBytes: how much of an answer's body the service may send before it is read.
    ///   - certificate: the client's certificate.
    ///   - literals: the encoding of headers that stay out of the table. The Guide asks for the default (2.3.4.1).
    ///   - opening: bytes that are sent before the TLS handshake.
    ///   - protocols: what it offers in the TLS handshake.
    ///   - burst: requests that are sent right after the preface, before the service can have sent anything.
    static func connect(
        port: Int,
        authorityFile: String,
        certificate: ClientCertificate? = nil,
        windowBytes: Int = 65_535,
        opening: [UInt8] = [],
        burst: [[(String, String)]] = [],
        literals: HTTP2Configuration.Literals = .withoutIndexing,
        protocols: [String] = ["h2"],
    ) async throws -> WireClient {
        var tls = TLSConfiguration.makeClientConfiguration()
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
                    let handler = try NIOSSLClientHandler(context: context, serverHostname: nil)
                    try channel.pipeline.syncOperations.addHandler(handler)
                    let recorder = WireRecorder(burst: burst, eventLoop: channel.eventLoop)
                    recorders.withLock { $0 = NIOLoopBound(recorder, eventLoop: channel.eventLoop) }
                    var configuration = HTTP2Configuration()
                    configuration.streamWindowBytes = windowBytes
                    configuration.literals = literals
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

    /// Sends a request and waits for its answer.
    func send(_ headers: [(String, String)], body: String = #"{"aps":{"alert":"Hello"}}"#) async throws -> Answer {
        try await channel.eventLoop.flatSubmit { [recorder, channel] in
            recorder.value.send(headers, body: body, promise: channel.eventLoop.makePromise(of: Answer.self))
        }.get()
    }

    /// Sends the bytes of a frame unchanged.
    func write(_ frame: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: frame)) }

    /// A request whose headers were sent, but not its body.
    struct Begun: Sendable {
        fileprivate let finishing: @Sendable () -> EventLoopFuture<Answer>
        fileprivate let answering: EventLoopFuture<Answer>

        /// Waits for the answer without sending the body.
        func answer() async throws -> Answer { try await answering.get() }

        /// Sends the body and waits for the answer.
        func finish() async throws -> Answer { try await finishing().get() }
    }

    /// Sends a request's headers, and waits until the peer has read them.
    /// - Parameter ends: whether the request has no body.
    func begin(
        _ headers: [(String, String)], body: String = #"{"aps":{"alert":"Hello"}}"#, ends: Bool = false,
    ) async throws -> Begun {
        let (stream, answer) = try await channel.eventLoop.submit { [recorder, channel] in
            try recorder.value.begin(headers, endStream: ends, promise: channel.eventLoop.makePromise(of: Answer.self))
        }.get()
        // Requests are read in their order, so after this answer the headers were read.
        _ = try await send([
            (":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", "/"),
        ])
        let finishing = { @Sendable [recorder, channel] in
            channel.eventLoop.flatSubmit {
                recorder.value.finish(stream, body: body)
                return answer
            }
        }
        return Begun(finishing: finishing, answering: answer)
    }

    /// A request that stays open.
    struct Open: Sendable {
        fileprivate let client: WireClient
        fileprivate let stream: StreamID
        fileprivate let answering: EventLoopFuture<Answer>

        /// Sends a piece of the body.
        func write(_ text: String) async throws {
            try await client.channel.eventLoop.submit { [recorder = client.recorder, stream] in
                recorder.value.write(stream, text)
            }.get()
        }

        /// Ends the body, and waits for the end of the answer.
        func finish() async throws -> Answer {
            try await client.channel.eventLoop.submit { [recorder = client.recorder, stream] in
                recorder.value.finish(stream, body: "")
            }.get()
            return try await answering.get()
        }

        /// Waits for the end of the answer.
        func answer() async throws -> Answer { try await answering.get() }

        /// Waits for the next line of the answer; nil if the answer ends first.
        func nextLine() async throws -> String? {
            try await client.channel.eventLoop.flatSubmit {
                [recorder = client.recorder, stream, channel = client.channel] in
                recorder.value.nextLine(stream, channel.eventLoop.makePromise(of: String?.self))
            }.get()
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
        try await channel.eventLoop.flatSubmit { [recorder, channel] in
            EventLoopFuture.whenAllSucceed(recorder.value.burstAnswers, on: channel.eventLoop)
        }.get()
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
        try await channel.eventLoop.flatSubmit { [recorder, channel] in
            recorder.value.whenAnnounced(streams, channel.eventLoop.makePromise(of: Void.self))
        }.get()
    }

    /// All numbers of streams that the peer has announced.
    func announcements() async throws -> [Int] {
        try await channel.eventLoop.submit { [recorder] in recorder.value.announcements }.get()
    }

    /// Waits for the first GOAWAY.
    func goneAway() async throws {
        try await channel.eventLoop.flatSubmit { [recorder, channel] in
            recorder.value.whenGoneAway(channel.eventLoop.makePromise(of: Void.self))
        }.get()
    }

    /// Waits for the end of the connection.
    /// - Returns: the debug data of each GOAWAY.
    func goAways() async throws -> [String] {
        try await channel.closeFuture.get()
        return try await channel.eventLoop.submit { [recorder] in recorder.value.goAways }.get()
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

/// Records what arrives. Confined to its event loop.
final class WireRecorder: HTTP2Application {
    private var session: HTTP2Session?
    private var answers: [StreamID: (answer: WireClient.Answer, promise: EventLoopPromise<WireClient.Answer>)] = [:]
    private var waiting: [(streams: Int, promise: EventLoopPromise<Void>)] = []
    private let burst: [[(String, String)]]
    private let eventLoop: any EventLoop
    private(set) var burstAnswers: [EventLoopFuture<WireClient.Answer>] = []
    private(set) var announcements: [Int] = []
    private(set) var goAways: [String] = []
    private var leaving: [EventLoopPromise<Void>] = []
    private var lines: [StreamID: Lines] = [:]

    /// The part of an answer that was read line by line.
    private struct Lines {
        var waiting: [EventLoopPromise<String?>] = []
        var taken = 0
        /// The whole answer, once it has ended.
        var last = ""
    }

    init(burst: [[(String, String)]], eventLoop: any EventLoop) {
        self.burst = burst
        self.eventLoop = eventLoop
    }

    /// The names of changing values that are in the header table.
    private var indexed: Set<String> = []

    /// Encodes the fields as the Guide asks (2.3.4.1). The session writes literals without indexing.
    private func block(_ headers: [(String, String)]) -> HeaderBlock {
        var block = HeaderBlock()
        for (name, value) in headers {
            let indexing: HeaderBlock.Indexing =
                switch name {
                case ":path", "authorization": .never
                case "apns-id", "apns-expiration", "apns-collapse-id":
                    indexed.insert(name).inserted ? .indexed : .never
                default: .indexed
                }
            if value == WireClient.notText {
                block.append("apns-collapse-id", [0xff, 0xfe].span, indexing: indexing)
            } else {
                block.append(name: name, value: value, indexing: indexing)
            }
        }
        return block
    }

    func send(
        _ headers: [(String, String)],
        body: String,
        promise: EventLoopPromise<WireClient.Answer>,
    ) -> EventLoopFuture<WireClient.Answer> {
        let block = block(headers)
        do {
            guard let session else { throw HTTP2Error(.notActive) }
            let stream = try session.request(block, body: ByteBuffer(string: body))
            answers[stream] = (WireClient.Answer(), promise)
        } catch {
            promise.fail(error)
        }
        return promise.futureResult
    }

    func begin(
        _ headers: [(String, String)],
        endStream: Bool = false,
        promise: EventLoopPromise<WireClient.Answer>,
    ) throws -> (StreamID, EventLoopFuture<WireClient.Answer>) {
        let block = block(headers)
        guard let session else { throw HTTP2Error(.notActive) }
        let stream = try session.request(block, endStream: endStream)
        answers[stream] = (WireClient.Answer(), promise)
        return (stream, promise.futureResult)
    }

    func write(_ stream: StreamID, _ text: String) { session?.write(stream, ByteBuffer(string: text)) }

    func nextLine(_ stream: StreamID, _ promise: EventLoopPromise<String?>) -> EventLoopFuture<String?> {
        lines[stream, default: Lines()].waiting.append(promise)
        serveLines(stream)
        return promise.futureResult
    }

    /// Passes lines to those who wait for them; nil after the answer has ended.
    private func serveLines(_ stream: StreamID) {
        guard var served = lines[stream] else { return }
        let isOpen = answers[stream] != nil
        while let promise = served.waiting.first {
            let text = answers[stream]?.answer.body ?? served.last
            let rest = text.dropFirst(served.taken)
            if let end = rest.firstIndex(of: "\n") {
                promise.succeed(String(rest[..<end]))
                served.taken += rest.distance(from: rest.startIndex, to: end) + 1
            } else if !isOpen {
                promise.succeed(nil)
            } else {
                break
            }
            served.waiting.removeFirst()
        }
        lines[stream] = served
    }

    func finish(_ stream: StreamID, body: String) {
        session?.write(stream, ByteBuffer(string: body))
        session?.finish(stream)
    }

    func openAndReset(_ headers: [(String, String)]) -> Bool {
        let block = block(headers)
        guard let session, let stream = try? session.request(block, endStream: false) else { return false }
        session.flush()
        session.reset(stream, .cancel)
        session.flush()
        return true
    }

    func whenAnnounced(_ streams: Int, _ promise: EventLoopPromise<Void>) -> EventLoopFuture<Void> {
        if announcements.last == streams { promise.succeed() } else { waiting.append((streams, promise)) }
        return promise.futureResult
    }

    func whenGoneAway(_ promise: EventLoopPromise<Void>) -> EventLoopFuture<Void> {
        if goAways.isEmpty { leaving.append(promise) } else { promise.succeed() }
        return promise.futureResult
    }

    func sessionBecameActive(_ session: HTTP2Session) {
        self.session = session
        burstAnswers = burst.map { headers in
            send(
                headers, body: #"{"aps":{"alert":"Hello"}}"#, promise: eventLoop.makePromise(of: WireClient.Answer.self)
            )
        }
    }

    func headerReceived(_ stream: StreamID, name: Span<UInt8>, value: Span<UInt8>) {
        let name = name.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        let value = value.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        answers[stream]?.answer.headers[name, default: []].append(value)
        if name == ":status" { answers[stream]?.answer.status = Int(value) ?? 0 }
    }

    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        answers[stream]?.answer.body += bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        serveLines(stream)
    }

    func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) {
        guard var pending = answers.removeValue(forKey: stream) else { return }
        pending.answer.error = error
        lines[stream]?.last = pending.answer.body
        serveLines(stream)
        pending.promise.succeed(pending.answer)
    }

    func settingsReceived(_ settings: PeerSettings) {
        guard let streams = settings.maxConcurrentStreams else { return }
        announcements.append(streams)
        waiting.removeAll { waiting in
            if waiting.streams == streams { waiting.promise.succeed() }
            return waiting.streams == streams
        }
    }

    func goAwayReceived(lastStream: StreamID, error: HTTP2ErrorCode, debugData: Span<UInt8>) {
        goAways.append(debugData.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) })
        for promise in leaving { promise.succeed() }
        leaving = []
    }

    func sessionClosed(_ end: SessionEnd) {
        session = nil
        for waiting in waiting { waiting.promise.fail(ChannelError.ioOnClosedChannel) }
        waiting = []
        for promise in leaving { promise.fail(ChannelError.ioOnClosedChannel) }
        leaving = []
    }
}
