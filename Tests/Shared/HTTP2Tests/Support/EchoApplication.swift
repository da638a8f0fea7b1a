import HTTP2
import NIOCore

/// A server's application that answers by path: `/echo` returns the body, `/large` a megabyte, `/early` answers before
/// the body, `/lines` sends three lines, each in its own task outside of any read, and `/drain` returns the body and
/// begins to drain the connection. All answers have the request's `apns-id`.
final class EchoApplication: HTTP2Application {
    private struct Request {
        var path = ""
        var id = ""
        var body = ByteBuffer()
        var rest = 0
    }

    private let loop: any EventLoop
    private var session: HTTP2Session?
    private var requests = StreamTable<Request>()
    private var block = FieldList()

    static let largeBytes = 1_000_000

    init(loop: any EventLoop) { self.loop = loop }

    func sessionBecameActive(_ session: HTTP2Session) { self.session = session }
    func sessionClosed(_ end: SessionEnd) { session = nil }
    func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) { requests.remove(stream) }

    func fieldsReceived(_ stream: StreamID, _ fields: FieldList, endStream: Bool) {
        var request = Request()
        fields.forEach { name, value, _ in Self.read(name, value, to: &request) }
        requests.append(stream, request)
        guard request.path == "/early" else { return }
        session?.respond(stream, headers("413", request.id), body: ByteBuffer(string: "too large"))
    }

    private static func read(_ name: Span<UInt8>, _ value: Span<UInt8>, to request: inout Request) {
        let text = value.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        switch name.withUnsafeBufferPointer({ String(decoding: $0, as: UTF8.self) }) {
        case ":path": request.path = text
        case "apns-id": request.id = text
        default: break
        }
    }

    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        guard let index = requests.index(of: stream) else { return }
        bytes.withUnsafeBufferPointer { _ = requests[index].body.writeBytes($0) }
    }

    func bodyTooLarge(_ stream: StreamID) -> Bool {
        guard let index = requests.index(of: stream) else { return false }
        session?.respond(stream, headers("413", requests[index].id), body: ByteBuffer(string: "too large"))
        return true
    }

    func streamEnded(_ stream: StreamID) {
        guard let session, let index = requests.index(of: stream) else { return }
        let request = requests[index]
        switch request.path {
        case "/large":
            requests[index].rest = Self.largeBytes
            session.sendHeaders(stream, headers("200", request.id), endStream: false)
            writable(stream)
        case "/lines":
            session.sendHeaders(stream, headers("200", request.id), endStream: false)
            writeLine(stream, 1)
        case "/early":
            break
        case "/drain":
            session.respond(stream, headers("200", request.id), body: request.body)
            session.drain()
        default:
            session.respond(stream, headers("200", request.id), body: request.body)
        }
    }

    func writable(_ stream: StreamID) {
        guard let session, let index = requests.index(of: stream) else { return }
        while requests[index].rest > 0 {
            requests[index].rest -= 10_000
            guard session.write(stream, ByteBuffer(repeating: 120, count: 10_000)) == .more else { return }
        }
        session.finish(stream)
    }

    private func writeLine(_ stream: StreamID, _ number: Int) {
        loop.assumeIsolated().execute { [self] in
            guard number <= 3 else {
                session?.finish(stream)
                return
            }
            session?.write(stream, ByteBuffer(string: "line \(number)\n"))
            writeLine(stream, number + 1)
        }
    }

    private func headers(_ status: String, _ id: String) -> FieldList {
        block.removeAll()
        block.append(":status", status)
        block.append("apns-id", id, .neverIndexed)
        return block
    }
}
