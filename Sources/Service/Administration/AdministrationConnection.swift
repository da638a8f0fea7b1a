import HTTP2
import NIOCore
import Notifications

/// One connection to the administration. Confined to its event loop.
final class AdministrationConnection: HTTP2Connection {
    /// How long a request may take to come, and how long a connection may do nothing: commands make one request.
    static let patience = TimeAmount.seconds(10)

    private let administration: Administration
    private let administrator: Administrator
    private let eventLoop: any EventLoop
    private var session: HTTP2Session?
    private var requests = StreamTable<Request>()
    private var second = NIODeadline.now()
    private var lastRequest = NIODeadline.now()

    private struct Request {
        var method = ""
        var path = ""
        var body: [UInt8] = []
        var hasEnded = false
        var isAnswered = false
        let began: NIODeadline
    }

    init(administration: Administration, administrator: Administrator, eventLoop: any EventLoop) {
        self.administration = administration
        self.administrator = administrator
        self.eventLoop = eventLoop
    }

    func sessionBecameActive(_ session: HTTP2Session) { self.session = session }

    func headersBegan(_ stream: StreamID) {
        lastRequest = second
        requests.append(stream, Request(began: second))
    }

    func headerReceived(_ stream: StreamID, name: Span<UInt8>, value: Span<UInt8>) {
        guard let index = requests.index(of: stream) else { return }
        if name.isEqual(to: ":method") { requests[index].method = value.text }
        if name.isEqual(to: ":path") { requests[index].path = value.text }
    }

    func headersEnded(_ stream: StreamID, endStream: Bool) {
        // Nothing of a stranger's request is kept.
        if let refusal = administrator.refusal(at: administration.clock()) { respond(stream, refusal) }
    }

    func headersTooLarge(_ stream: StreamID) -> Bool {
        respond(stream, .failure(431, "The headers are too long."))
        return true
    }

    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        guard let index = requests.index(of: stream), !requests[index].isAnswered else { return }
        requests[index].body.append(bytes)
    }

    func bodyTooLarge(_ stream: StreamID) -> Bool {
        respond(stream, .failure(413, "The body is longer than \(Administration.maximumBodyBytes) bytes."))
        return true
    }

    func streamEnded(_ stream: StreamID) {
        guard let index = requests.index(of: stream), !requests[index].isAnswered else { return }
        requests[index].hasEnded = true
        let request = requests[index]
        let connection = NIOLoopBound(self, eventLoop: eventLoop)
        Task { [administration, administrator] in
            let answer = await administration.perform(request.method, request.path, request.body, as: administrator)
            connection.eventLoop.execute { connection.value.respond(stream, answer) }
        }
    }

    private func respond(_ stream: StreamID, _ answer: AdministrationAnswer) {
        guard let index = requests.index(of: stream), !requests[index].isAnswered else { return }
        requests[index].isAnswered = true
        requests[index].body = []
        var headers = HeaderBlock()
        headers.append(":status", String(answer.status))
        headers.append("content-type", answer.contentType)
        session?.respond(stream, headers, body: ByteBuffer(bytes: answer.body))
    }

    func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) { requests.remove(stream) }

    func sessionClosed(_ end: SessionEnd) { session = nil }

    func tick(now: NIODeadline) {
        second = now
        for stream in requests.streams(where: { !$0.hasEnded && $0.began + Self.patience < now }) {
            guard let index = requests.index(of: stream) else { continue }
            // An answer that is not taken, or a request that goes on after it, is given up.
            if requests[index].isAnswered { session?.reset(stream, .noError) }
            respond(stream, .failure(408, "The request did not end in time."))
        }
        if requests.isEmpty, lastRequest + Self.patience < now { session?.goAway(.noError) }
    }

    func drain() { session?.drain() }
}
