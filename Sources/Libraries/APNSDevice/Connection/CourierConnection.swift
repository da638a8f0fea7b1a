import HTTP2
import NIOCore
import Notifications

/// One connection to the courier. It sends requests and reads the stream of notifications. Confined to its event
/// loop.
final class CourierConnection: HTTP2Application {
    /// The largest answer, in bytes. The longest one lists an app's 500 subscriptions to Web Push, each with up to 1 KB. A certificate
    /// chain has 3 KB.
    static let maximumResponseBytes = 524_288

    /// Receives the events of the connection. All calls come on the event loop.
    protocol Owner: AnyObject {
        /// TCP is connected. Requests can be made; they are sent when TLS is ready.
        func connectionIsActive(_ connection: CourierConnection)
        func heard(_ connection: CourierConnection)
        func streamOpened(_ connection: CourierConnection)
        func received(_ line: LineReader.Line, on connection: CourierConnection)
        /// The connection has ended. This is the last call.
        func ended(_ connection: CourierConnection, _ error: DeviceError)
    }

    private let eventLoop: any EventLoop
    private let authority: String
    private weak var owner: (any Owner)?
    private var session: HTTP2Session?
    private var exchanges = StreamTable<CourierExchange>()
    private var orphans: [CourierExchange] = []
    private var stream: StreamID?
    private var streamStatus = 0
    private var streamRefusal: [UInt8] = []
    private var lines = LineReader()
    private var goAway: DeviceError?
    private var failure: DeviceError?
    /// The refusal of the stream of notifications, without a reason.
    private var refusedStream: DeviceError?

    init(owner: any Owner, authority: String, eventLoop: any EventLoop) {
        self.owner = owner
        self.authority = authority
        self.eventLoop = eventLoop
    }

    // MARK: Requests

    /// Makes a request. `finish` is called exactly once.
    func send(
        _ request: CourierRequest,
        timeout: TimeAmount,
        _ finish: @escaping (Result<CourierResponse, DeviceError>) -> Void,
    ) {
        guard let made = make(request, endStream: true, finish) else { return }
        expectAnswer(made, within: timeout)
    }

    /// Begins a request whose body continues with ``add(_:to:)`` until ``end(_:timeout:)``. `finish` is called
    /// exactly once.
    /// - Returns: The request's stream; nil if it could not be made.
    func begin(
        _ request: CourierRequest,
        _ finish: @escaping (Result<CourierResponse, DeviceError>) -> Void,
    ) -> StreamID? {
        make(request, endStream: false, finish)
    }

    /// Adds bytes to the body of a begun request. If the request has already ended, the bytes are ignored, because
    /// its `finish` was called.
    func add(_ bytes: ByteBuffer, to stream: StreamID) { _ = session?.write(stream, bytes) }

    /// Ends the body of a begun request.
    func end(_ stream: StreamID, timeout: TimeAmount) {
        session?.finish(stream)
        expectAnswer(stream, within: timeout)
    }

    private func make(
        _ request: CourierRequest,
        endStream: Bool,
        _ finish: @escaping (Result<CourierResponse, DeviceError>) -> Void,
    ) -> StreamID? {
        guard let session else {
            finish(.failure(failure ?? DeviceError(.disconnected, "The connection has ended.")))
            return nil
        }
        do {
            let made = try session.request(headers(request), body: request.body, endStream: endStream)
            exchanges.append(made, CourierExchange(finish: finish))
            return made
        } catch {
            let code: DeviceError.Code = error.code == .tooManyStreams ? .unavailable : .disconnected
            // If the connection is ending, report why.
            finish(.failure(failure ?? goAway ?? DeviceError(code, "The request could not be made: \(error)")))
            return nil
        }
    }

    private func expectAnswer(_ stream: StreamID, within timeout: TimeAmount) {
        guard let index = exchanges.index(of: stream), !exchanges[index].isDone else { return }
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        exchanges[index].deadline = eventLoop.scheduleTask(in: timeout) { bound.value.timeOut(stream) }
    }

    /// Writes all requests made so far with their bodies, so that the courier gets them before any later request.
    func flush() { session?.flush() }

    /// Opens the stream of notifications.
    func openStream() {
        guard let session, stream == nil else { return }
        do {
            stream = try session.request(headers(CourierRequest(.get, "/1/notifications")))
        } catch {
            fail(DeviceError(.disconnected, "The stream of notifications could not be opened: \(error)"))
        }
    }

    /// Makes the courier wait before it sends more notifications.
    func pause() {
        if let stream { session?.pauseReading(stream) }
    }

    /// Lets the courier continue after `pause()`.
    func resume() {
        if let stream { session?.resumeReading(stream) }
    }

    func ping() { session?.ping(0) }

    /// Whether the courier is about to end the connection and accepts no further requests.
    var isGoingAway: Bool { goAway != nil }

    /// Ends the connection and reports this error to the owner.
    func fail(_ error: DeviceError) {
        if failure == nil { failure = error }
        session?.goAway(.noError)
        session?.close()
    }

    private func headers(_ request: CourierRequest) -> FieldList {
        var block = FieldList()
        switch request.method {
        case .get: block.append(":method", "GET")
        case .put: block.append(":method", "PUT")
        case .post: block.append(":method", "POST")
        case .delete: block.append(":method", "DELETE")
        }
        block.append(":scheme", "https")
        block.append(":authority", authority)
        block.append(":path", request.path)
        if let code = request.activationCode { block.append("activation-code", code, .neverIndexed) }
        return block
    }

    private func timeOut(_ stream: StreamID) {
        guard let index = exchanges.index(of: stream) else { return }
        exchanges[index].failure = DeviceError(.timedOut, "The courier did not answer in time.")
        session?.reset(stream, .cancel)
    }

    // MARK: HTTP2Application

    func sessionBecameActive(_ session: HTTP2Session) {
        self.session = session
        owner?.connectionIsActive(self)
    }

    func settingsReceived(_ settings: PeerSettings) { owner?.heard(self) }

    func pingAcknowledged(_ payload: UInt64) { owner?.heard(self) }

    func fieldsReceived(_ stream: StreamID, _ fields: FieldList, endStream: Bool) {
        fields.forEach { name, value, _ in read(stream, name: name, value: value) }
        owner?.heard(self)
        if stream == self.stream, streamStatus == 200 { owner?.streamOpened(self) }
    }

    private func read(_ stream: StreamID, name: Span<UInt8>, value: Span<UInt8>) {
        if name.isEqual(to: ":status") {
            let status = Int(value.text) ?? 0
            if stream == self.stream { streamStatus = status }
            if let index = exchanges.index(of: stream) { exchanges[index].response.status = status }
        } else if name.isEqual(to: "device-id"), let index = exchanges.index(of: stream) {
            exchanges[index].response.deviceID = value.text
        }
    }

    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        owner?.heard(self)
        if stream == self.stream {
            streamData(bytes)
        } else if let index = exchanges.index(of: stream) {
            guard exchanges[index].response.body.count + bytes.count <= Self.maximumResponseBytes else {
                exchanges[index].failure = DeviceError(.badResponse, "The courier's answer is too long.")
                session?.reset(stream, .cancel)
                return
            }
            bytes.withUnsafeBufferPointer { exchanges[index].response.body.append(contentsOf: $0) }
        }
    }

    private func streamData(_ bytes: Span<UInt8>) {
        guard failure == nil else { return }
        guard streamStatus == 200 else {
            if streamRefusal.count + bytes.count <= Self.maximumResponseBytes {
                bytes.withUnsafeBufferPointer { streamRefusal.append(contentsOf: $0) }
            }
            return
        }
        do throws(DeviceError) {
            try lines.read(bytes) { line in
                guard failure == nil else { return }
                if case .end(let word) = line { return fail(Self.error(word)) }
                owner?.received(line, on: self)
            }
        } catch {
            fail(error)
        }
    }

    func streamEnded(_ stream: StreamID) {
        if stream == self.stream {
            let refusal = CourierResponse(status: streamStatus, body: streamRefusal).refusal
            return fail(refusal ?? DeviceError(.disconnected, "The courier ended the stream of notifications."))
        }
        guard let index = exchanges.index(of: stream), !exchanges[index].isDone else { return }
        exchanges[index].isDone = true
        exchanges[index].deadline?.cancel()
        exchanges[index].finish(.success(exchanges[index].response))
    }

    func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) {
        if stream == self.stream {
            self.stream = nil
            // If the connection ends as well, the next event has the cause.
            guard session?.isActive == true, goAway == nil else { return }
            let reset = DeviceError(.disconnected, "The courier reset the stream of notifications: \(error).")
            // A courier that is about to end the connection refuses new streams. The answer to an earlier request or GOAWAY says
            // why. Until then the time limit for opening the stream applies.
            guard error == .refusedStream, streamStatus == 0 else { return fail(reset) }
            refusedStream = reset
            return
        }
        let removed = exchanges.remove(stream)
        // A device often makes no request for hours, so an empty table must not keep its memory.
        if exchanges.isEmpty { exchanges = StreamTable() }
        guard let exchange = removed, !exchange.isDone else { return }
        exchange.deadline?.cancel()
        // If the connection ends as well, the next event has the cause.
        guard session?.isActive == true else { return orphans.append(exchange) }
        let cause = "The courier reset the request: \(error)."
        exchange.finish(.failure(exchange.failure ?? failure ?? goAway ?? DeviceError(.disconnected, cause)))
    }

    func goAwayReceived(lastStream: StreamID, error: HTTP2ErrorCode, debugData: Span<UInt8>) {
        let object = JSONObject(debugData.withUnsafeBufferPointer { [UInt8]($0) })
        guard let reason = object?[text: "reason"] else {
            goAway = DeviceError(.disconnected, "The courier ends the connection: \(error).")
            return
        }
        // GOAWAY has no status. If it is not about the identity, another attempt may succeed, so use 503.
        goAway = DeviceError(refusal: reason, detail: object?[text: "detail"], status: 503)
    }

    func sessionClosed(_ end: SessionEnd) {
        session = nil
        let owner = owner
        self.owner = nil
        let error = failure ?? goAway ?? refusedStream ?? DeviceError(end)
        failure = error
        owner?.ended(self, error)
        for exchange in orphans { exchange.finish(.failure(exchange.failure ?? error)) }
        orphans = []
    }

    private static func error(_ end: String) -> DeviceError {
        if end == "takenOver" {
            return DeviceError(.takenOver, "Another connection of this device has taken over.")
        }
        if end == "revoked" {
            return DeviceError(
                .identityRefused, "This device was revoked. Activate it again if it may still be used.", reason: end)
        }
        return DeviceError(.disconnected, "The courier ended the stream: \(end).", reason: end)
    }
}
