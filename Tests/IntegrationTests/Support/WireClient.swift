import HTTP2
import NIOCore
import NIOPosix
import NIOSSL
import Notifications

/// One HTTP/2 connection that shows each request's end, and each GOAWAY with its contents. For what curl cannot show,
/// several requests at a time, and requests that do not end.
struct WireClient: Sendable {
    struct Answer: Sendable {
        var status = 0
        var headers: [(name: String, value: String)] = []
        var body = ""

        subscript(_ name: String) -> String? { headers.first { $0.name == name }?.value }
    }

    struct GoAway: Sendable, Equatable {
        let lastStream: Int32
        let debugData: String
    }

    /// A request was not answered.
    struct Unanswered: Error {
        let stream: Int32
        let code: HTTP2ErrorCode
    }

    private let channel: any Channel
    private let exchanges: NIOLoopBound<Exchanges>
    private let authority: String

    /// - Parameters:
    ///   - address: `host:port`.
    ///   - ca: the file of the authority's certificate.
    init(to address: String, ca: String) async throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.applicationProtocols = ["h2"]
        tls.trustRoots = .file(ca)
        let context = try NIOSSLContext(configuration: tls)
        let parts = address.split(separator: ":")
        guard parts.count == 2, let port = Int(parts[1]) else { throw UnexpectedOutput(description: address) }
        authority = address
        (channel, exchanges) = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: String(parts[0]), port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let exchanges = Exchanges(eventLoop: channel.eventLoop)
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: nil))
                    try pipeline.addHandler(
                        HTTP2Session(role: .client, configuration: HTTP2Configuration(), application: exchanges))
                    return (channel, NIOLoopBound(exchanges, eventLoop: channel.eventLoop))
                }
            }
    }

    /// Sends a request and waits for its answer.
    /// - Parameters:
    ///   - ends: whether the body ends. If not, the answer comes before its end.
    ///   - usesHost: names the server in `host` instead of `:authority`, as some clients do.
    func send(_ push: Push, ends: Bool = true, usesHost: Bool = false) async throws -> Answer {
        var block = HeaderBlock()
        block.append(name: ":method", value: push.method)
        block.append(":scheme", "https")
        if !usesHost { block.append(name: ":authority", value: authority) }
        block.append(name: ":path", value: push.path)
        if usesHost { block.append(name: "host", value: authority) }
        for (name, value) in push.headers { block.append(name: name, value: value) }
        let body = push.body.map { ByteBuffer(bytes: $0) }
        return try await channel.eventLoop.flatSubmit { [exchanges, block] in
            exchanges.value.begin(block, body: body, ends: ends)
        }.get()
    }

    /// All GOAWAY frames that have come.
    func goAways() async throws -> [GoAway] {
        try await channel.eventLoop.submit { [exchanges] in exchanges.value.goAways }.get()
    }

    /// Whether it accepts requests: it is open, and no GOAWAY has come.
    func isOpen() async throws -> Bool {
        try await channel.eventLoop.submit { [exchanges] in
            exchanges.value.session?.isActive == true && exchanges.value.goAways.isEmpty
        }.get()
    }

    func close() async {
        // This fails if the service has closed the connection.
        try? await channel.close()
    }

    /// Waits until the connection has ended.
    func closed() async {
        try? await channel.closeFuture.get()  // `goAways()` shows how it ended.
    }
}

/// The requests of the connection. Confined to its event loop.
private final class Exchanges: HTTP2Application {
    private struct Exchange {
        var answer = WireClient.Answer()
        var hasEnded = false
        let promise: EventLoopPromise<WireClient.Answer>
    }

    private let eventLoop: any EventLoop
    private var exchanges = StreamTable<Exchange>()
    private(set) var session: HTTP2Session?
    private(set) var goAways: [WireClient.GoAway] = []

    init(eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    func begin(_ block: HeaderBlock, body: ByteBuffer?, ends: Bool) -> EventLoopFuture<WireClient.Answer> {
        let promise = eventLoop.makePromise(of: WireClient.Answer.self)
        do {
            guard let session else { throw HTTP2Error(.notActive) }
            let stream = try session.request(block, body: ends ? body : nil, endStream: ends)
            exchanges.append(stream, Exchange(promise: promise))
            if !ends, let body { session.write(stream, body) }
        } catch {
            promise.fail(error)
        }
        return promise.futureResult
    }

    func sessionBecameActive(_ session: HTTP2Session) { self.session = session }

    func headerReceived(_ stream: StreamID, name: Span<UInt8>, value: Span<UInt8>) {
        guard let index = exchanges.index(of: stream) else { return }
        let name = name.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        let value = value.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        if name == ":status" { exchanges[index].answer.status = Int(value) ?? 0 }
        exchanges[index].answer.headers.append((name, value))
    }

    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        guard let index = exchanges.index(of: stream) else { return }
        exchanges[index].answer.body += bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    func streamEnded(_ stream: StreamID) {
        guard let index = exchanges.index(of: stream) else { return }
        exchanges[index].hasEnded = true
        exchanges[index].promise.succeed(exchanges[index].answer)
    }

    func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) {
        guard let exchange = exchanges.remove(stream), !exchange.hasEnded else { return }
        exchange.promise.fail(WireClient.Unanswered(stream: stream.rawValue, code: error))
    }

    func goAwayReceived(lastStream: StreamID, error: HTTP2ErrorCode, debugData: Span<UInt8>) {
        let text = debugData.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        goAways.append(WireClient.GoAway(lastStream: lastStream.rawValue, debugData: text))
    }

    func sessionClosed(_ end: SessionEnd) { session = nil }
}

extension CarillonProcess {
    /// A provider's connection in the development environment.
    func connect() async throws -> WireClient {
        try await WireClient(to: try addresses(.development).provider, ca: ready.ca)
    }
}
