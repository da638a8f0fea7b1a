import HTTP2
import NIOCore
import NIOPosix
import NIOSSL
import Notifications

/// One connection of a device: its stream of notifications as lines, and its other requests. For tests that have too
/// many devices for a curl process each.
struct WireDevice: Sendable {
    /// The lines of its stream of notifications, without keep-alives, until it ends.
    let lines: AsyncStream<String>

    private let channel: any Channel
    private let exchanges: NIOLoopBound<DeviceExchanges>
    private let authority: String

    /// Connects, and opens the stream of notifications.
    /// - Parameter identity: the file that `carillon device activate` made.
    init(_ service: CarillonProcess, identity: String) async throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.applicationProtocols = ["h2"]
        tls.trustRoots = .file(service.ready.ca)
        tls.certificateChain = try NIOSSLCertificate.fromPEMFile(identity).map { .certificate($0) }
        tls.privateKey = .privateKey(try NIOSSLPrivateKey(file: identity, format: .pem))
        let context = try NIOSSLContext(configuration: tls)
        authority = try service.addresses(.development).courier
        let parts = authority.split(separator: ":")
        guard parts.count == 2, let port = Int(parts[1]) else { throw UnexpectedOutput(description: authority) }
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        self.lines = lines
        (channel, exchanges) = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: String(parts[0]), port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let exchanges = DeviceExchanges(lines: continuation)
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: nil))
                    try pipeline.addHandler(
                        HTTP2Session(role: .client, configuration: HTTP2Configuration(), application: exchanges))
                    return (channel, NIOLoopBound(exchanges, eventLoop: channel.eventLoop))
                }
            }
        let head = head("GET", "/1/notifications")
        try await channel.eventLoop.submit { [exchanges] in try exchanges.value.listen(head) }.get()
    }

    /// Acknowledges a notification of the stream, and waits for the answer.
    func acknowledge(_ line: JSONValue) async throws {
        let sending = Int(try line["sending"].flatMap(\.number).orThrow("no sending: \(line)"))
        let head = head("POST", "/1/acknowledgements")
        let body = ByteBuffer(string: #"{"sendings":[\#(sending)]}"#)
        let status = try await channel.eventLoop.flatSubmit { [exchanges, channel] in
            exchanges.value.request(head, body, on: channel.eventLoop)
        }.get()
        guard status == "204" else { throw UnexpectedOutput(description: "an acknowledgement: \(status)") }
    }

    func close() async {
        // This fails if the service has closed the connection.
        try? await channel.close()
    }

    private func head(_ method: String, _ path: String) -> HeaderBlock {
        var block = HeaderBlock()
        block.append(name: ":method", value: method)
        block.append(":scheme", "https")
        block.append(name: ":authority", value: authority)
        block.append(name: ":path", value: path)
        return block
    }
}

/// The requests of the connection. Confined to its event loop.
private final class DeviceExchanges: HTTP2Application {
    private struct Exchange {
        var status = ""
        let promise: EventLoopPromise<String>
    }

    private let lines: AsyncStream<String>.Continuation
    private var exchanges = StreamTable<Exchange>()
    private var session: HTTP2Session?
    private var waiting: HeaderBlock?
    private var listening: StreamID?
    private var line: [UInt8] = []

    init(lines: AsyncStream<String>.Continuation) { self.lines = lines }

    func sessionBecameActive(_ session: HTTP2Session) {
        self.session = session
        if let waiting { listening = try? session.request(waiting, body: nil, endStream: true) }
    }

    func listen(_ head: HeaderBlock) throws {
        waiting = head
        if let session { listening = try session.request(head, body: nil, endStream: true) }
    }

    func request(_ head: HeaderBlock, _ body: ByteBuffer, on eventLoop: any EventLoop) -> EventLoopFuture<String> {
        let promise = eventLoop.makePromise(of: String.self)
        do {
            guard let session else { throw HTTP2Error(.notActive) }
            exchanges.append(try session.request(head, body: body, endStream: true), Exchange(promise: promise))
        } catch {
            promise.fail(error)
        }
        return promise.futureResult
    }

    func headerReceived(_ stream: StreamID, name: Span<UInt8>, value: Span<UInt8>) {
        guard let index = exchanges.index(of: stream), name.isEqual(to: ":status") else { return }
        exchanges[index].status = value.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        guard stream == listening else { return }
        for index in bytes.indices {
            guard bytes[index] == UInt8(ascii: "\n") else {
                line.append(bytes[index])
                continue
            }
            if !line.isEmpty { lines.yield(String(decoding: line, as: UTF8.self)) }
            line = []
        }
    }

    func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) {
        if stream == listening { lines.finish() }
        guard let exchange = exchanges.remove(stream) else { return }
        if exchange.status.isEmpty {
            exchange.promise.fail(WireClient.Unanswered(stream: stream.rawValue, code: error))
        } else {
            exchange.promise.succeed(exchange.status)
        }
    }

    func sessionClosed(_ end: SessionEnd) {
        session = nil
        lines.finish()
    }
}
