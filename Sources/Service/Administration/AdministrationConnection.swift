import HTTP2
import NIOCore
import Notifications

/// One connection to the administration. Confined to its event loop.
final class AdministrationConnection: HTTP2Connection {
    /// Nil for a client without a certificate, where one is needed.
    private let administration: Administration?
    private let eventLoop: any EventLoop
    private var session: HTTP2Session?
    private var requests = StreamTable<Request>()

    private struct Request {
        var method = ""
        var path = ""
        var body: [UInt8] = []
        var isAnswered = false
    }

    init(administration: Administration?, eventLoop: any EventLoop) {
        self.administration = administration
        self.eventLoop = eventLoop
    }

    func sessionBecameActive(_ session: HTTP2Session) { self.session = session }

    func headersBegan(_ stream: StreamID) { requests.append(stream, Request()) }

    func headerReceived(_ stream: StreamID, name: Span<UInt8>, value: Span<UInt8>) {
        guard let index = requests.index(of: stream) else { return }
        if name.isEqual(to: ":method") { requests[index].method = value.text }
        if name.isEqual(to: ":path") { requests[index].path = value.text }
    }

    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        guard let index = requests.index(of: stream) else { return }
        requests[index].body.append(bytes)
    }

    func bodyTooLarge(_ stream: StreamID) -> Bool {
        respond(stream, .failure(413, "The body is longer than \(Administration.maximumBodyBytes) bytes."))
        return true
    }

    func streamEnded(_ stream: StreamID) {
        guard let index = requests.index(of: stream), !requests[index].isAnswered else { return }
        guard let administration else {
            return respond(stream, .failure(403, "This takes an administrator's certificate."))
        }
        let request = requests[index]
        let connection = NIOLoopBound(self, eventLoop: eventLoop)
        Task {
            let answer = await administration.perform(request.method, request.path, request.body)
            connection.eventLoop.execute { connection.value.respond(stream, answer) }
        }
    }

    private func respond(_ stream: StreamID, _ answer: AdministrationAnswer) {
        guard let index = requests.index(of: stream), !requests[index].isAnswered else { return }
        requests[index].isAnswered = true
        var headers = HeaderBlock()
        headers.append(":status", String(answer.status))
        headers.append("content-type", answer.contentType)
        session?.respond(stream, headers, body: ByteBuffer(bytes: answer.body))
    }

    func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) { requests.remove(stream) }

    func sessionClosed(_ end: SessionEnd) { session = nil }

    func tick(now: NIODeadline) {}

    func drain() { session?.drain() }
}
