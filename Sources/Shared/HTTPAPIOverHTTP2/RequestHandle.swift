import HTTP2
import HTTPTypes
import Hummingbird
import NIOCore

/// A request as the task that answers it has it, on any thread.
struct RequestHandle: Sendable {
    let connection: NIOLoopBound<RequestConnection>
    let stream: StreamID

    private func onLoop<Value: Sendable>(
        _ body: @escaping @Sendable (RequestConnection) throws -> Value
    ) async throws -> Value {
        let connection = connection
        if connection.eventLoop.inEventLoop { return try body(connection.value) }
        return try await connection.eventLoop.submit { try body(connection.value) }.get()
    }

    private func now(_ body: @escaping @Sendable (RequestConnection) -> Void) {
        let connection = connection
        if connection.eventLoop.inEventLoop {
            body(connection.value)
        } else {
            connection.eventLoop.execute { body(connection.value) }
        }
    }

    /// Answers the request.
    func answer(_ request: Request, _ respond: @Sendable (Request) async throws -> Response) async {
        var response = Response(status: .internalServerError)
        do { response = try await respond(request) } catch {
            // APIs answer their errors themselves. This is what Hummingbird does with others.
        }
        do { try await response.body.write(AnswerWriter(self, response)) } catch {
            // Either the client has gone, or the answer breaks off, which only a reset can say.
        }
        now { [stream] in $0.taskEnded(stream) }
    }

    /// The next bytes of the body; nil at its end.
    func read() async throws -> ByteBuffer? {
        try await withCheckedThrowingContinuation { continuation in
            now { [stream] in $0.read(stream, continuation) }
        }
    }

    /// Sends a whole answer.
    func respond(_ head: HTTPResponse, _ body: ByteBuffer?) async throws {
        try await onLoop { [stream] in try $0.respond(stream, head, body) }
    }

    func begin(_ head: HTTPResponse) async throws {
        try await onLoop { [stream] in try $0.begin(stream, head) }
    }

    /// Sends bytes of an answer that was begun, as fast as the client reads.
    func write(_ bytes: ByteBuffer) async throws {
        var rest = bytes
        while let piece = rest.readSlice(length: min(rest.readableBytes, RequestConnection.pieceBytes)),
            piece.readableBytes > 0
        {
            if try await onLoop({ [stream] in try $0.write(stream, piece) }) { continue }
            try await withCheckedThrowingContinuation { continuation in
                now { [stream] in $0.awaitRoom(stream, continuation) }
            }
        }
    }

    func finish() async throws {
        try await onLoop { [stream] in try $0.finish(stream) }
    }
}

/// The body of a request that has not arrived completely when its task begins. It can be read once.
struct ArrivingBody: AsyncSequence, Sendable {
    let request: RequestHandle

    struct AsyncIterator: AsyncIteratorProtocol {
        let request: RequestHandle

        func next() async throws -> ByteBuffer? { try await request.read() }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(request: request) }
}

/// Sends the answer to a request. An answer whose body is a single buffer leaves as a whole.
struct AnswerWriter: ResponseBodyWriter {
    private let request: RequestHandle
    /// Nil once it was sent.
    private var head: HTTPResponse?
    /// The whole body, if its head was not sent.
    private var whole: ByteBuffer?
    /// The length of the body; nil if it is not known.
    private let length: Int?

    init(_ request: RequestHandle, _ response: Response) {
        self.request = request
        head = response.head
        length = response.body.contentLength
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        if head != nil, whole == nil, buffer.readableBytes == length,
            buffer.readableBytes <= RequestConnection.pieceBytes
        {
            whole = buffer
            return
        }
        if let head {
            self.head = nil
            try await request.begin(head)
            if let whole { try await request.write(whole) }
        }
        try await request.write(buffer)
    }

    /// Trailers are not sent: no answer here has any.
    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        if let head { try await request.respond(head, whole) } else { try await request.finish() }
    }
}
