import HTTP2
import NIOCore

/// Our client in a form for tests: each request is a future.
struct TestClient: Sendable {
    struct Response: Sendable, Equatable {
        var status = ""
        var id = ""
        var body = ""
    }

    struct Failed: Error { var code: HTTP2ErrorCode }

    private let loop: any EventLoop
    private let bound: NIOLoopBound<Responses>
    /// The session's application. Use it on the event loop only.
    var responses: Responses { bound.value }

    init(loop: any EventLoop) {
        self.loop = loop
        bound = NIOLoopBound(Responses(loop: loop), eventLoop: loop)
    }

    func post(_ path: String, id: String = "", body: String = "") async throws -> Response {
        try await loop.flatSubmit { [bound] in bound.value.send(path, id, body) }.get()
    }

    /// Sends this many requests at once, each with its number, and waits for all answers.
    func postMany(_ count: Int, _ path: String, body: String) async throws -> [Response] {
        try await loop.flatSubmit { [bound, loop] in
            EventLoopFuture.whenAllSucceed(
                (0..<count).map { bound.value.send(path, "\($0)", body) },
                on: loop
            )
        }.get()
    }

    /// Calls `body` with the session on its event loop.
    func ask<Answer: Sendable>(_ body: @escaping @Sendable (HTTP2Session) -> Answer) async throws -> Answer? {
        try await loop.submit { [bound] in bound.value.session.map(body) }.get()
    }

    /// Calls `body` with the session, and waits for the connection's end.
    func end(_ body: @escaping @Sendable (HTTP2Session) -> Void) async throws -> String {
        try await loop.flatSubmit { [bound] in
            if let session = bound.value.session { body(session) }
            return bound.value.over.futureResult
        }.get()
    }

    final class Responses: HTTP2Application {
        private struct Open {
            var response = Response()
            var promise: EventLoopPromise<Response>
        }

        private let loop: any EventLoop
        private(set) var session: HTTP2Session?
        private var open = StreamTable<Open>()
        let over: EventLoopPromise<String>

        init(loop: any EventLoop) {
            self.loop = loop
            over = loop.makePromise()
        }

        /// A client that could not connect has had no session.
        deinit { over.succeed("not connected") }

        func send(_ path: String, _ id: String, _ body: String) -> EventLoopFuture<Response> {
            let promise = loop.makePromise(of: Response.self)
            do {
                guard let session else { throw HTTP2Error(.notActive) }
                var block = FieldList.post(path)
                block.append("apns-id", id, .neverIndexed)
                let stream = try session.request(block, body: ByteBuffer(string: body))
                open.append(stream, Open(promise: promise))
            } catch {
                promise.fail(error)
            }
            return promise.futureResult
        }

        func sessionBecameActive(_ session: HTTP2Session) { self.session = session }

        func fieldsReceived(_ stream: StreamID, _ fields: FieldList, endStream: Bool) {
            guard let index = open.index(of: stream) else { return }
            fields.forEach { name, value, _ in read(name, value, at: index) }
        }

        private func read(_ name: Span<UInt8>, _ value: Span<UInt8>, at index: Int) {
            let text = value.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            switch name.withUnsafeBufferPointer({ String(decoding: $0, as: UTF8.self) }) {
            case ":status": open[index].response.status = text
            case "apns-id": open[index].response.id = text
            default: break
            }
        }

        func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
            guard let index = open.index(of: stream) else { return }
            open[index].response.body += bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        }

        func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) {
            guard let closed = open.remove(stream) else { return }
            if error == .noError {
                closed.promise.succeed(closed.response)
            } else {
                closed.promise.fail(Failed(code: error))
            }
        }

        func sessionClosed(_ end: SessionEnd) {
            session = nil
            over.succeed(end.description)
        }
    }
}
