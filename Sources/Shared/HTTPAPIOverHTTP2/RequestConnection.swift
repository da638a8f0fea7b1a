package import HTTP2
package import HTTPAPI
package import HTTPTypes
package import Hummingbird
package import NIOCore

/// Serves the requests of one HTTP/2 connection as Hummingbird's, so that an API is the same over HTTP/1.1 and HTTP/2.
///
/// A stream has neither a channel nor handlers. Each request has a task. It begins at the end of the batch in which the fields
/// came: a small request has arrived whole by then, and its task waits for nothing. Confined to the connection's event loop.
package final class RequestConnection: HTTP2Connection {
    /// What is the same for all connections of a server.
    package struct Rules: Sendable {
        package var limits: RequestLimits
        /// What every refusal has beside its own fields.
        package var refusalFields: HTTPFields
        /// After how long without a request the connection says that it ends; nil if it only closes.
        package var idle: TimeAmount?
        /// Runs the tasks; nil for the threads of all tasks.
        package var executor: (any TaskExecutor)?

        package init(
            _ limits: RequestLimits, refusalFields: HTTPFields = [:], idle: TimeAmount? = nil,
            executor: (any TaskExecutor)? = nil,
        ) {
            self.limits = limits
            self.refusalFields = refusalFields
            self.idle = idle
            self.executor = executor
        }
    }

    /// How many requests a client may have open: the smallest number that RFC 9113, 6.5.2, recommends. Browsers and other
    /// clients open a new stream as soon as one ends.
    package static let streams = 100

    /// How many bytes of an answer go to the session at once. With ``streams`` such pieces, and as many that wait for the
    /// client, a connection is far below `HTTP2Configuration.maxBufferedBytes`.
    static let pieceBytes = 16_384

    /// - Parameter windowBytes: how many bytes of a request's body may come before the API reads them.
    package static func configuration(windowBytes: Int = 65_535) -> HTTP2Configuration {
        var configuration = HTTP2Configuration()
        configuration.idleMemory = .releasedOnRequest
        configuration.streamHighMark = 2 * pieceBytes
        configuration.streamLowMark = pieceBytes
        configuration.limits.maxConcurrentStreams = streams
        configuration.limits.announcedConcurrentStreams = streams
        configuration.limits.maxHeaderListBytes = RequestLimits.headerBytes
        configuration.limits.streamWindowBytes = windowBytes
        // A client that still sends its body can read the answer before its stream is reset.
        configuration.earlyReset = .onceRead
        return configuration
    }

    private let rules: Rules
    private let eventLoop: any EventLoop
    private let guardian: ConnectionGuard
    private let whenMalformed: (Problem) -> Void
    private let respond: @Sendable (Request) async throws -> Response
    private var session: HTTP2Session?
    private var streams = StreamTable<RequestStream>()
    private var fields = RequestFields()
    /// The requests of this batch.
    private var begun: [StreamID] = []
    /// The `:authority` that was found valid last.
    private var authority: String?
    /// How many tasks have not ended.
    private var tasks = 0
    private var whenTasksEnd: EventLoopPromise<Void>?

    /// - Parameters:
    ///   - guardian: closes the connection if it has no request for too long. It is before the session.
    ///   - whenMalformed: called with each request that breaks a rule which the session does not check.
    ///   - respond: answers a request.
    package init(
        _ rules: Rules, _ guardian: ConnectionGuard, on eventLoop: any EventLoop,
        whenMalformed: @escaping (Problem) -> Void,
        respond: @escaping @Sendable (Request) async throws -> Response,
    ) {
        (self.rules, self.guardian, self.eventLoop) = (rules, guardian, eventLoop)
        (self.whenMalformed, self.respond) = (whenMalformed, respond)
    }

    package func sessionBecameActive(_ session: HTTP2Session) { self.session = session }

    // MARK: Requests

    package func fieldsReceived(_ stream: StreamID, _ fields: FieldList, endStream: Bool) {
        begin(stream, fields) { (head: inout HTTPRequest) throws(Problem) -> Problem? in
            let isKnown = head.authority == authority && !head.headerFields.contains(where: RequestHeadRules.isHost)
            if !isKnown { head = try RequestHeadRules.checked(head) }
            authority = head.authority
            let crumbs = head.headerFields[fields: .cookie].count
            guard head.headerFields.count - crumbs <= RequestLimits.headerFields else {
                return RequestLimits.tooManyFields
            }
            return nil
        }
        guard !endStream, let request = streams[stream], request.answer == .none else { return }
        if request.request?.waitsForContinue == true { session?.sendInterim(stream, status: 100) }
    }

    package func fieldsTooLarge(_ stream: StreamID, _ fields: FieldList) -> Bool {
        begin(stream, fields) { _ in RequestLimits.tooManyFields }
        self.fields.forget()
        return true
    }

    /// - Parameter check: returns why the request is refused; throws if it is malformed.
    private func begin(
        _ stream: StreamID, _ list: FieldList, _ check: (inout HTTPRequest) throws(Problem) -> Problem?
    ) {
        guard var head = fields.request(list) else {
            // The session refuses a request without a method, and the fields that came before the limit have it.
            session?.reset(stream, .protocolError)
            return
        }
        let request = RequestStream(head, began: now)
        streams.append(stream, request)
        guardian.requestBegan()
        do throws(Problem) {
            if let problem = try check(&head) { return refuse(stream, request, problem) }
        } catch {
            whenMalformed(error)
            return refuse(stream, request, error)
        }
        request.request = head
        begun.append(stream)
    }

    private var now: NIODeadline { eventLoop.now }

    package func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        guard let request = streams[stream] else { return }
        let mark = (session?.configuration.limits.streamWindowBytes ?? 0) / 2
        if request.received(bytes, mark: mark) { session?.pauseReading(stream) }
    }

    package func streamEnded(_ stream: StreamID) { streams[stream]?.end() }

    package func batchEnded() {
        guard !begun.isEmpty else { return }
        let requests = begun
        begun = []
        for stream in requests { start(stream) }
    }

    /// Begins the task of a request that was not refused or reset meanwhile.
    private func start(_ stream: StreamID) {
        guard let request = streams[stream], let head = request.request, request.answer == .none else { return }
        request.request = nil
        let handle = RequestHandle(connection: NIOLoopBound(self, eventLoop: eventLoop), stream: stream)
        let body =
            request.hasEnded
            ? RequestBody(buffer: request.takeBody()) : RequestBody(asyncSequence: ArrivingBody(request: handle))
        let respond = respond
        tasks += 1
        Task(executorPreference: rules.executor) {
            await handle.answer(Request(head: head, body: body), respond)
        }
    }

    package func writable(_ stream: StreamID) { streams[stream]?.writable() }

    package func streamClosed(_ stream: StreamID, error: ErrorCode) {
        guard let request = streams.remove(stream) else { return }
        request.abandon()
        guardian.requestsEnded()
    }

    // MARK: What tasks do

    func read(_ stream: StreamID, _ reader: CheckedContinuation<ByteBuffer?, any Error>) {
        guard let request = streams[stream], request.answer == .none || request.answer == .begun else {
            return reader.resume(throwing: RequestEnded())
        }
        if request.read(reader) { session?.resumeReading(stream) }
    }

    /// - Throws: if the request has its answer already, because it was refused, or if nobody waits for it any more.
    func respond(_ stream: StreamID, _ head: HTTPResponse, _ body: ByteBuffer?) throws {
        let request = try unanswered(stream)
        send(stream, request, head, body)
        if request.answer == .reset { throw RequestEnded() }
    }

    private func send(_ stream: StreamID, _ request: RequestStream, _ head: HTTPResponse, _ body: ByteBuffer?) {
        completed(request)
        let isSent = session?.respond(stream, FieldList(head), body: request.isHead ? nil : body) ?? false
        if !isSent { reset(stream, request, .internalError) }
    }

    func begin(_ stream: StreamID, _ head: HTTPResponse) throws {
        let request = try unanswered(stream)
        request.answer = .begun
        guard session?.sendHeaders(stream, FieldList(head), endStream: false) == true else {
            reset(stream, request, .internalError)
            throw RequestEnded()
        }
    }

    private func unanswered(_ stream: StreamID) throws -> RequestStream {
        guard let request = streams[stream], request.answer == .none else { throw RequestEnded() }
        return request
    }

    private func answering(_ stream: StreamID) throws -> RequestStream {
        guard let request = streams[stream], request.answer == .begun else { throw RequestEnded() }
        return request
    }

    /// - Returns: whether more can be written at once.
    func write(_ stream: StreamID, _ bytes: ByteBuffer) throws -> Bool {
        let request = try answering(stream)
        if request.isHead { return true }
        switch session?.write(stream, bytes) ?? .closed {
        case .more: return true
        case .wait:
            request.fill(at: now)
            return false
        case .closed: throw RequestEnded()
        }
    }

    func awaitRoom(_ stream: StreamID, _ writer: CheckedContinuation<Void, any Error>) {
        guard let request = streams[stream], request.answer == .begun else {
            return writer.resume(throwing: RequestEnded())
        }
        request.awaitRoom(writer)
    }

    func finish(_ stream: StreamID) throws {
        let request = try answering(stream)
        completed(request)
        session?.finish(stream)
    }

    private func completed(_ request: RequestStream) {
        request.answer = .complete
        request.unread = now
        if !request.hasEnded { request.cutShort = now }
        request.abandon()
    }

    /// The task of a request has ended. If its answer is not complete, the client learns this by a reset.
    func taskEnded(_ stream: StreamID) {
        if let request = streams[stream], request.answer == .none || request.answer == .begun {
            reset(stream, request, .internalError)
        }
        tasks -= 1
        if tasks == 0 { whenTasksEnd?.succeed() }
    }

    private func reset(_ stream: StreamID, _ request: RequestStream, _ code: ErrorCode) {
        request.answer = .reset
        request.unread = request.unread ?? now
        request.abandon()
        session?.reset(stream, code)
    }

    private func refuse(_ stream: StreamID, _ request: RequestStream, _ problem: Problem) {
        guard request.answer == .none else { return reset(stream, request, .cancel) }
        let (head, body) = problem.refusal(rules.refusalFields)
        send(stream, request, head, body)
    }

    // MARK: The connection

    package func tick(now: NIODeadline) {
        guard let session else { return }
        for stream in streams.streams(where: { _ in true }) {
            guard let request = streams[stream] else { continue }
            if isStuck(stream, request, now) { return session.close() }
        }
        if session.closeIfFieldsAreOverdue(after: rules.limits.request, now: now) { return }
        guard streams.isEmpty else { return }
        fields.forget()
        if let idle = rules.idle, guardian.since + idle <= now { drain() }
    }

    /// Refuses a request that arrives too slowly, and resets a stream whose client does not read.
    /// - Returns: whether not even the reset could be sent, because the client reads nothing at all.
    private func isStuck(_ stream: StreamID, _ request: RequestStream, _ now: NIODeadline) -> Bool {
        let limits = rules.limits
        if let unread = request.unread, unread + limits.answer <= now {
            guard request.answer != .reset else { return unread + limits.answer + limits.answer <= now }
            reset(stream, request, .cancel)
        } else if let cutShort = request.cutShort {
            if cutShort + OverdueRequest.linger < now, request.answer == .complete { reset(stream, request, .noError) }
        } else if !request.hasEnded, limits.latestEnd(began: request.began, arrived: request.arrived) <= now {
            refuse(stream, request, limits.tooSlow)
        }
        return false
    }

    /// GOAWAY follows when the requests under way have their answers.
    package func drain() { session?.goAwayOnceAnswered() }

    package func sessionClosed(_ end: SessionEnd) {
        session = nil
        begun = []
    }

    package var remainingWork: EventLoopFuture<Void>? {
        guard tasks > 0 else { return nil }
        let promise = whenTasksEnd ?? eventLoop.makePromise()
        whenTasksEnd = promise
        return promise.futureResult
    }
}
