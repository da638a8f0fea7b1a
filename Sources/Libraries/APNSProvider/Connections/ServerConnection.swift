import Connections
import HTTP2
import Logging
import NIOCore
import Notifications

/// One connection to the service. It sends requests and receives their answers. Confined to its event loop.
final class ServerConnection: HTTP2Application {
    /// The largest body of an answer, in bytes. A rejection has about a hundred.
    static let maximumAnswerBytes = 16_384

    private struct Exchange {
        var job: Job
        var status = 0
        var apnsID: String?
        var uniqueID: String?
        var channelID: String?
        var retryAfter: Int?
        /// By how many seconds this machine's clock is ahead of the service's; nil if the answer has no date.
        var clockDifference: Int64?
        var body: [UInt8] = []
        /// Whether the client has reset the stream and already told the caller.
        var isGivenUp = false
        var isEnded = false

        var isOpen: Bool { !isGivenUp && !isEnded }
    }

    let id: ConnectionPlan.ID
    private(set) var channel: (any Channel)?
    private let authority: String
    /// The dispatcher; nil after the connection has ended.
    private var owner: RequestDispatcher?
    private var hasUnsent = false
    private var session: HTTP2Session?
    private var exchanges = StreamTable<Exchange>()
    private var block = FieldList()
    private var firsts: Firsts = []
    private var keepAlive: KeepAlive
    /// Seconds since 1970.
    private let clock: @Sendable () -> UInt64
    private var goAwayCause: String?
    /// Whether the service's SETTINGS have come, so that the connection accepts requests.
    private(set) var hasSettings = false
    private var pings: UInt64 = 0

    /// Header fields that are already in the service's table, so that they need not enter it again.
    private struct Firsts: OptionSet {
        let rawValue: UInt8
        static let id = Firsts(rawValue: 1)
        static let expiration = Firsts(rawValue: 2)
        static let collapseID = Firsts(rawValue: 4)
    }

    init(
        id: ConnectionPlan.ID,
        authority: String,
        keepAlive: KeepAlive,
        clock: @escaping @Sendable () -> UInt64,
        owner: RequestDispatcher,
    ) {
        self.id = id
        self.clock = clock
        self.authority = authority
        self.keepAlive = keepAlive
        self.owner = owner
    }

    /// Why the connection has ended or is about to end, in words; nil if this is not known.
    private(set) var trouble: String?

    /// Whether the connection is one to a proxy, and the proxy has not opened the tunnel.
    var asksProxy = false

    func opened(_ channel: any Channel) { self.channel = channel }

    /// Handles the end of a connection that never had a session, because a proxy refused it.
    func failedBeforeSession(_ cause: String) {
        guard session == nil, let owner else { return }
        trouble = cause
        self.owner = nil
        owner.closed(self)
    }

    /// Handles a handshake after which the connection cannot be used. It is closed next.
    func handshakeFailed(_ cause: String) { if trouble == nil { trouble = cause } }

    // MARK: Sending

    /// Begins a request. `flush` makes the session write it.
    /// - Returns: The job if the connection accepts no more requests, otherwise nil.
    func send(_ job: Job, authorization: String?) -> Job? {
        guard let session, session.isActive, !session.isDraining else { return job }
        let request = job.ticket.request
        let authorization = request.authorization ?? authorization
        fill(request, authorization: authorization)
        do throws(HTTP2Error) {
            let stream = try session.request(block, body: request.route.hasBody ? request.payload : nil)
            var sent = job
            sent.attempts += 1
            sent.token = authorization
            if exchanges.count == 0 { keepAlive.began(at: .now()) }
            exchanges.append(stream, Exchange(job: sent))
            hasUnsent = true
            return nil
        } catch {
            if error.code == .malformed {
                let error = ProviderError(.badNotification, "A header contains a character that headers cannot have.")
                owner?.finish(job, .failure(error))
                owner?.requestEnded(on: id)
                return nil
            }
            return job
        }
    }

    /// Writes the requests that were begun.
    func flush() {
        guard hasUnsent else { return }
        hasUnsent = false
        session?.flush()
    }

    /// Fills the header block, encoded as the text under Table 8-1 requires. `:path` and `authorization` go without
    /// indexing. Fields that change with each notification use incremental indexing the first time only, so that
    /// their names enter the service's table. All other fields always use incremental indexing.
    private func fill(_ request: PushRequest, authorization: String?) {
        // Use a local copy, because each access to a property of a class is checked.
        var block = FieldList()
        swap(&block, &self.block)
        defer { swap(&block, &self.block) }
        block.removeAll()
        block.append(":method", request.route.method)
        block.append(":scheme", "https")
        switch request.route {
        case .device: block.append(":path", beginning: "/3/device/", request.deviceToken, .withoutIndexing)
        // A provider has few apps, so that the paths may enter the table.
        case .broadcast(let bundleID): block.append(":path", "/4/broadcasts/apps/" + bundleID)
        case .channels(let action, let bundleID):
            block.append(":path", "/1/apps/\(bundleID)/" + (action == .list ? "all-channels" : "channels"))
        }
        block.append(":authority", authority)
        if let authorization { block.append("authorization", authorization, .withoutIndexing) }
        if let value = request.via { block.append("via", value) }
        if let value = request.topic { block.append("apns-topic", value) }
        if let value = request.pushType { block.append("apns-push-type", value) }
        if let value = request.priority { block.append("apns-priority", value) }
        if let value = request.channelID { block.append("apns-channel-id", value) }
        if let value = request.id { block.append(request.route.identifierHeader, value, first(.id)) }
        if let value = request.expiration { block.append("apns-expiration", value, first(.expiration)) }
        if let value = request.collapseID { block.append("apns-collapse-id", value, first(.collapseID)) }
    }

    private func first(_ field: Firsts) -> FieldForm {
        firsts.insert(field).inserted ? .incremental : .withoutIndexing
    }

    // MARK: Time

    /// Gives up requests that are past their deadline or cancelled, and checks a silent connection with PING.
    /// - Returns: The time for the next call.
    func tick(at now: NIODeadline) -> NIODeadline {
        for stream in exchanges.streams(where: { $0.isOpen && $0.job.ticket.deadline <= now }) {
            giveUp(
                stream,
                ProviderError(.deadlineExceeded, "The service did not answer in time.", mayHaveBeenTaken: true))
        }
        switch keepAlive.tick(inFlight: exchanges.count, at: now) {
        case .wait(let due): return due
        case .ping:
            ping()
            return tick(at: now)
        case .close:
            trouble = "the service does not answer PING"
            channel?.close(promise: nil)
            return now + .seconds(1)
        }
    }

    /// Checks an idle connection with PING before it takes a request.
    func checkIfSilent(at now: NIODeadline) {
        if hasSettings, keepAlive.check(inFlight: exchanges.count, at: now) { ping() }
    }

    private func ping() {
        pings += 1
        session?.ping(pings)
        if let replaceFrom = keepAlive.replaceFrom { owner?.suspect(id, replaceFrom: replaceFrom) }
    }

    func giveUpCancelled() {
        let isCancelled = { (exchange: Exchange) in exchange.job.ticket.cancellation.isCancelled }
        for stream in exchanges.streams(where: { $0.isOpen && isCancelled($0) }) {
            giveUp(stream, .taskCancelled.with(mayHaveBeenTaken: true))
        }
    }

    private func giveUp(_ stream: StreamID, _ error: ProviderError) {
        guard let index = exchanges.index(of: stream) else { return }
        exchanges[index].isGivenUp = true
        // The caller gets the answer now. The session reports the stream's end after the frame was written.
        owner?.finish(exchanges[index].job, .failure(error))
        session?.reset(stream, .cancel)
    }

    /// Closes the connection when no request is under way any more.
    func leave() { session?.drain() }

    func close() { channel?.close(promise: nil) }

    var inFlight: Int { exchanges.count }

    // MARK: HTTP2Application

    func sessionBecameActive(_ session: HTTP2Session) { self.session = session }

    func settingsReceived(_ settings: PeerSettings) {
        owner?.settingsReceived(on: self, streams: settings.maxConcurrentStreams, isFirst: !hasSettings)
        hasSettings = true
    }

    func fieldsReceived(_ stream: StreamID, _ fields: FieldList, endStream: Bool) {
        guard let index = exchanges.index(of: stream) else { return }
        fields.forEach { name, value, _ in read(name: name, value: value, of: index) }
    }

    private func read(name: Span<UInt8>, value: Span<UInt8>, of index: Int) {
        if name.isEqual(to: ":status") {
            exchanges[index].status = Self.status(value)
        } else if name.isEqual(to: "apns-id") || name.isEqual(to: "apns-request-id") {
            exchanges[index].apnsID = PushAnswer.identifier(value.text)
        } else if name.isEqual(to: "apns-unique-id") {
            exchanges[index].uniqueID = value.text
        } else if name.isEqual(to: "apns-channel-id") {
            exchanges[index].channelID = value.text
        } else if name.isEqual(to: "retry-after") {
            exchanges[index].retryAfter = Int(value.text).flatMap { $0 >= 0 ? $0 : nil }  // fits: nil if it does not
        } else if exchanges[index].status == 403, name.isEqual(to: "date"), let date = HTTPDate.seconds(value.text) {
            // Only a provider token depends on the clocks.
            exchanges[index].clockDifference = Int64(clamping: clock()) - date
        }
    }

    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        guard let index = exchanges.index(of: stream), !exchanges[index].isGivenUp else { return }
        let maximum = exchanges[index].job.ticket.request.route.maximumAnswerBytes
        guard exchanges[index].body.count + bytes.count <= maximum else {
            if (500...599).contains(exchanges[index].status) {
                // Whatever it says, it is the page of a server in between.
                exchanges[index].isGivenUp = true
                owner?.ended(exchanges[index].job, .success(PushAnswer(status: exchanges[index].status)))
                session?.reset(stream, .cancel)
                return
            }
            return giveUp(
                stream,
                ProviderError(
                    .unexpectedAnswer, "The answer is longer than \(maximum) bytes.",
                    mayHaveBeenTaken: PushAnswer.isSuccess(exchanges[index].status)))
        }
        exchanges[index].body.append(bytes)
    }

    func streamEnded(_ stream: StreamID) {
        // Update the exchange in place: copying it would cost more than the rest of this function.
        let ended = exchanges.update(stream) { exchange -> (Job, Ticket.Answer)? in
            guard !exchange.isGivenUp else { return nil }
            exchange.isEnded = true
            return (exchange.job, Self.answer(exchange))
        }
        guard case let (job, answer)?? = ended else { return }
        if case .success(let answer) = answer { owner?.answered(on: id, TokenVerdict(answer)) }
        owner?.ended(job, answer)
    }

    func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) {
        guard let exchange = exchanges.remove(stream) else { return }
        if exchanges.count == 0 { keepAlive.ended() }
        owner?.requestEnded(on: id)
        guard exchange.isOpen else { return }
        if error == .refusedStream {
            let cause =
                goAwayCause.map { "The service ended the connection: \($0)." } ?? "The service refused the stream."
            owner?.refused(exchange.job, isByGoAway: goAwayCause != nil, ProviderError(.gaveUp, cause))
        } else if session?.isActive == true, goAwayCause == nil {
            let cause = "The service reset the request: \(error)."
            owner?.finish(exchange.job, .failure(ProviderError(.gaveUp, cause, mayHaveBeenTaken: true)))
        } else {
            let cause = goAwayCause ?? trouble
            let error = ProviderError(
                .connectionLost, "The connection ended before the answer\(cause.map { ": " + $0 } ?? "").",
                mayHaveBeenTaken: true)
            owner?.finish(exchange.job, .failure(error))
        }
    }

    func goAwayReceived(lastStream: StreamID, error: HTTP2ErrorCode, debugData: Span<UInt8>) {
        // The debug data is JSON with a reason, like the body of a rejection (Guide, 2.3.3.2). Other servers send
        // plain text.
        let data = Array(debugData.array.prefix(Self.maximumGoAwayBytes))
        let reason = JSONObject(data)?[text: "reason"] ?? String(decoding: data, as: UTF8.self)
        goAwayCause = reason.isEmpty ? "\(error)" : reason
        trouble = goAwayCause
        owner?.goingAway(self, reason: reason, code: error)
    }

    /// The largest part of the debug data that is parsed and logged, in bytes.
    private static let maximumGoAwayBytes = 1_024

    func batchEnded() {
        if keepAlive.heard(at: .now()) { owner?.trust(id) }
        owner?.batchEnded()
    }

    func sessionClosed(_ end: SessionEnd) {
        session = nil
        if trouble == nil { trouble = Self.cause(of: end) }
        owner?.closed(self)
        owner = nil
    }

    static func cause(of end: SessionEnd) -> String {
        guard case .channelError(let error) = end else { return end.description }
        let cause = ConnectionFailure.clientCause(of: error)
        return ProtocolCheck.isOtherProtocol(cause) ? ProtocolCheck.cause : cause
    }

    // MARK: Answers

    /// Returns the answer if it has the form of a push service's answer: an identifier with a status of success (Table 8-3),
    /// otherwise a reason in JSON (Table 8-5). Nobody else has to decide this.
    private static func answer(_ exchange: borrowing Exchange) -> Ticket.Answer {
        let object = exchange.body.isEmpty ? nil : JSONObject(exchange.body)
        let reason = object?[text: "reason"].flatMap { PushAnswer.isReason($0) ? $0 : nil }
        let isWhole =
            PushAnswer.isSuccess(exchange.status)
            ? exchange.apnsID != nil && exchange.job.ticket.request.route.isSuccess(exchange.status)
            : reason != nil && (400...599).contains(exchange.status)
        guard isWhole else {
            let bare = PushAnswer(status: exchange.status)
            // A 5xx without a reason is retried as well: it may come from a proxy in front of the service, which
            // answers in HTML.
            return (500...599).contains(exchange.status) ? .success(bare) : .failure(bare.error)
        }
        var answer = PushAnswer(
            status: exchange.status,
            apnsID: exchange.apnsID,
            uniqueID: exchange.uniqueID,
            reason: reason,
            timestamp: object?[number: "timestamp"],
            detail: object?[text: "detail"],
            channelID: exchange.channelID,
            body: exchange.body,
        )
        answer.retryAfter = exchange.retryAfter
        answer.clockDifference = exchange.clockDifference
        return .success(answer)
    }

    /// Parses three digits. Returns 0 for anything else.
    private static func status(_ value: Span<UInt8>) -> Int {
        guard value.count == 3 else { return 0 }
        var status = 0
        for index in value.indices {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(value[index]) else { return 0 }
            status = status * 10 + Int(value[index] - UInt8(ascii: "0"))  // fits: a digit of three
        }
        return status
    }
}

extension PushRequest.Route {
    /// Whether the status is one of success (Table 8-4; Apple, *Handling error responses from the channel management API*).
    fileprivate func isSuccess(_ status: Int) -> Bool {
        switch self {
        case .device, .broadcast: status == 200
        case .channels: status == 200 || status == 201 || status == 204
        }
    }

    /// The largest body of an answer, in bytes. The list of an app's channels, of which there are at most 10,000, has
    /// 67 for each channel at most.
    fileprivate var maximumAnswerBytes: Int {
        if case .channels(.list, _) = self { 1 << 20 } else { ServerConnection.maximumAnswerBytes }
    }
}
