import Connections
import Delivery
import HTTP2
import NIOCore
import Notifications
import Rates
import Trust

/// One device's connection. It reads requests, answers them, and writes the stream of notifications. Confined to the
/// connection's event loop.
final class DeviceConnection: HTTP2Connection {
    let courier: Courier
    let identity: DeviceIdentity?
    let isLocal: Bool
    /// The device's address, for the log.
    private let peer: String
    private let eventLoop: any EventLoop
    private(set) var session: HTTP2Session?
    var requests = StreamTable<DeviceRequest>()
    private var listening: (stream: StreamID, line: DeviceStream)?
    /// The newest request with acknowledgements whose body continues.
    var acknowledging: StreamID?
    /// The power state that the device has reported on this connection. A new stream begins with it.
    var power = DevicePower.awake
    private var response = DeviceResponse()
    /// The reason why the connection is ending.
    private var goneAway: Rejection.Reason?
    /// The reason to end the connection for when everything that has arrived together was handled.
    private var reasonAfterRead: Rejection.Reason?
    /// When the shutdown began; nil before.
    private var shutdownBegan: NIODeadline?
    private var second = NIODeadline.now()
    /// A request that begins is a use.
    private var idle = IdleTime()
    private var lastWrite = NIODeadline.now()
    /// Whether something was written that ``flush()`` has to send.
    private var hasWritten = false

    init(courier: Courier, identity: DeviceIdentity?, isLocal: Bool, peer: String, eventLoop: any EventLoop) {
        self.courier = courier
        self.identity = identity
        self.isLocal = isLocal
        self.peer = peer
        self.eventLoop = eventLoop
    }

    func sessionBecameActive(_ session: HTTP2Session) { self.session = session }

    func fieldsReceived(_ stream: StreamID, _ fields: FieldList, endStream: Bool) {
        var request = began(fields)
        request.decide()
        requests.append(stream, request)
        if !endStream, case .success(.acknowledge) = request.action { beginAcknowledgements(stream) }
    }

    private func began(_ fields: FieldList) -> DeviceRequest {
        idle.noteUse()
        var request = DeviceRequest(began: second)
        fields.forEach { name, value, _ in
            if name.isEqual(to: ":method") { request.method = value.text }
            if name.isEqual(to: ":path") { request.path = value.text }
            if name.isEqual(to: "activation-code") { request.activationCode = value.text }
        }
        return request
    }

    func fieldsTooLarge(_ stream: StreamID, _ fields: FieldList) -> Bool {
        requests.append(stream, began(fields))
        reject(stream, Rejection(.payloadTooLarge, detail: "The headers are too long."))
        return true
    }

    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        guard let index = requests.index(of: stream), !requests[index].isAnswered else { return }
        if case .success(.acknowledge) = requests[index].action { return acknowledge(bytes, on: stream) }
        requests[index].body.append(bytes)
    }

    func bodyTooLarge(_ stream: StreamID) -> Bool {
        let limit = courier.sessionConfiguration(for: identity).maxBodyBytes ?? courier.limits.bodyBytes
        reject(stream, Rejection(.payloadTooLarge, detail: "The body is longer than \(limit) bytes."))
        return true
    }

    func streamEnded(_ stream: StreamID) {
        guard let index = requests.index(of: stream), !requests[index].isAnswered else { return }
        let request = requests[index]
        requests[index].body = []
        do throws(Rejection) {
            try perform(request, on: stream)
        } catch {
            reject(stream, error)
        }
    }

    func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) {
        requests.remove(stream)
        if acknowledging == stream { acknowledging = nil }
        if listening?.stream == stream { stopListening() }
    }

    func sessionClosed(_ end: SessionEnd) {
        session = nil
        stopListening()
    }

    func tick(now: NIODeadline) {
        second = now
        continueShutdown(now: now)
        let timeout = courier.limits.requestTimeout
        for stream in requests.streams(where: { $0.overdue(after: timeout, now: now) != nil })
        where stream != listening?.stream && (stream != acknowledging || listening == nil) {
            // The table may have changed since.
            guard let index = requests.index(of: stream) else { continue }
            switch requests[index].overdue(after: timeout, now: now) {
            case .stuck:
                return session?.close() ?? ()
            case .answered:
                session?.reset(stream, .noError)
            case .unanswered:
                courier.limitLog.limitExceeded(.requestTimeout, peer: peer)
                reject(stream, Rejection(.idleTimeout, detail: "The request did not end in time."))
            case nil:
                break
            }
        }
        if session?.closeIfFieldsAreOverdue(after: timeout, now: now) == true {
            return courier.limitLog.limitExceeded(.requestTimeout, peer: peer)
        }
        if let listening, lastWrite + courier.limits.keepAlive < now {
            lastWrite = now
            session?.write(listening.stream, NotificationLine.keepAlive)
        }
        if requests.isEmpty, idle.exceeds(courier.limits.idleTimeout, at: now) { goAway(.idleTimeout) }
        // The error that this throws is meant for a request, and there is none here. It can be ignored, because the
        // method has already ended the connection.
        try? checkCertificate()
    }

    /// Ends the stream of notifications, and asks with a PING whether the device has sent something meanwhile. GOAWAY
    /// follows when the answer has come: clients that refuse every frame after GOAWAY then have had the last line, and
    /// acknowledgements that were on their way have counted.
    func drain() {
        guard shutdownBegan == nil else { return }
        shutdownBegan = .now()
        if let listening, !listening.line.endAfterBroadcasts(.shutdown) { endStream(listening.stream, .shutdown) }
        session?.ping(Self.shutdownPing)
    }

    /// The payload of that PING ("shutdown" in ASCII).
    private static let shutdownPing: UInt64 = 0x7368_7574_646f_776e

    func pingAcknowledged(_ payload: UInt64) {
        if payload == Self.shutdownPing, shutdownBegan != nil { sayShutdown() }
    }

    private func sayShutdown() {
        session?.goAwayOnceAnswered(debugData: DeviceResponse.body(Rejection(.shutdown)))
    }

    /// A device that answers no PING, or goes on with its request for acknowledgements, does not delay the shutdown.
    private func continueShutdown(now: NIODeadline) {
        guard let shutdownBegan, shutdownBegan + courier.limits.shutdownAnswer < now else { return }
        sayShutdown()
        if listening == nil, let acknowledging { reject(acknowledging, Rejection(.shutdown)) }
    }

    /// Ends the connection when all requests that have arrived together were answered. A device makes its first two at once, and
    /// would otherwise see nothing but REFUSED_STREAM for the second.
    ///
    /// GOAWAY goes out in one write with the answers: a client that has all its answers closes the connection, and would
    /// not read a GOAWAY that comes a moment later.
    func goAwayAfterThisRead(_ reason: Rejection.Reason) {
        reasonAfterRead = reason
        // A request that was held while the channel was not writable is handled after its read.
        let connection = NIOLoopBound(self, eventLoop: eventLoop)
        eventLoop.execute { connection.value.batchEnded() }
    }

    func batchEnded() {
        guard let reason = reasonAfterRead else { return }
        reasonAfterRead = nil
        goAway(reason)
    }

    func goAway(_ reason: Rejection.Reason) {
        guard goneAway != reason else { return }
        goneAway = reason
        if reason == .idleTimeout { courier.limitLog.limitExceeded(.idleTimeout, peer: peer) }
        switch reason {
        case .badCertificate: if let listening { endStream(listening.stream, .revoked) }
        case .serviceUnavailable: if let listening { endStream(listening.stream, .storeUnavailable) }
        default: break
        }
        // The request for acknowledgements may stay open for hours, so end it. All other requests get their answers.
        if let acknowledging { reject(acknowledging, Rejection(reason)) }
        // Clients that refuse every frame after GOAWAY would lose the stream's last line and the answers.
        session?.goAwayOnceAnswered(debugData: DeviceResponse.body(Rejection(reason)))
    }
}

// Writing to the device.
extension DeviceConnection {
    /// Writes an attempt of the switchboard. ``flush()`` sends it.
    func write(_ attempt: DeliveryAttempt, on stream: StreamID) {
        guard let session, listening?.stream == stream else { return }
        // A deleted app has no name, so nothing is sent to it.
        guard let app = courier.accounts.current.app(attempt.destination.app) else {
            return courier.switchboard.giveUp([attempt.number], to: attempt.destination.deviceKey)
        }
        lastWrite = second
        hasWritten = true
        session.write(
            stream, NotificationLine.of(attempt, bundleID: app.bundleID, clock: courier.clock), schedulesFlush: false)
    }

    /// Writes a broadcast's line. ``flush()`` sends it.
    func write(_ line: ByteBuffer, on stream: StreamID) {
        guard let session, listening?.stream == stream else { return }
        lastWrite = second
        hasWritten = true
        session.write(stream, line, schedulesFlush: false)
    }

    /// Ends the stream after everything that was written to it.
    func end(_ stream: StreamID, _ reason: StreamEnd) {
        if listening?.stream == stream { endStream(stream, reason) }
    }

    /// Sends at once, without waiting for the event loop's next round, because nothing more of this batch comes for
    /// this device.
    func flush() {
        guard hasWritten else { return }
        hasWritten = false
        session?.flush()
    }

    private func endStream(_ stream: StreamID, _ reason: StreamEnd) {
        session?.write(stream, NotificationLine.lastLine(for: reason))
        session?.finish(stream)
        if listening?.stream == stream { stopListening() }
    }

    func reject(_ stream: StreamID, _ rejection: Rejection) {
        respond(stream, DeviceAnswer(rejection))
    }

    func respond(_ stream: StreamID, _ answer: DeviceAnswer) {
        guard let index = requests.index(of: stream), !requests[index].isAnswered else { return }
        requests[index].isAnswered = true
        let headers = response.headers(answer)
        // An answer to HEAD has no content (RFC 9110, 9.3.2).
        let body = requests[index].method == "HEAD" ? nil : answer.body
        session?.respond(stream, headers, body: body.map { ByteBuffer(string: $0) })
    }

    /// Begins the stream of notifications. An older one of the device, here or on another node, ends.
    func listen(_ stream: StreamID, as device: DeviceKey) {
        guard shutdownBegan == nil else { return reject(stream, Rejection(.shutdown)) }
        guard let session, let index = requests.index(of: stream) else { return }
        if let listening { endStream(listening.stream, .takenOver) }
        requests[index].isAnswered = true
        let begin = DeviceAnswer(status: 200, contentType: "application/x-ndjson", body: "")
        session.sendHeaders(stream, response.headers(begin), endStream: false)
        let line = DeviceStream(
            connection: NIOLoopBound(self, eventLoop: eventLoop),
            outbox: courier.outboxes.outbox(of: eventLoop),
            stream: stream,
        )
        listening = (stream, line)
        // In this order: when the switchboard has taken the device in a shared store, the broadcasts read its
        // subscriptions.
        courier.broadcasts.attach(line, of: device)
        courier.switchboard.attach(line, of: device, power: power)
        courier.seen.saw(device, at: courier.clock.time)
    }

    /// Answers a device that was revoked, or whose certificate has expired, and that asks for its notifications, as if
    /// it had been listening when that happened.
    func refuseToListen(_ stream: StreamID) {
        guard let session, let index = requests.index(of: stream) else { return }
        requests[index].isAnswered = true
        let begin = DeviceAnswer(status: 200, contentType: "application/x-ndjson", body: "")
        session.sendHeaders(stream, response.headers(begin), endStream: false)
        session.write(stream, NotificationLine.lastLine(for: .revoked))
        session.finish(stream)
        goAway(.badCertificate)
    }

    private func stopListening() {
        guard let line = listening?.line, let device = deviceKey else { return }
        listening = nil
        if let acknowledging, let index = requests.index(of: acknowledging) { requests[index].began = second }
        courier.switchboard.detach(line, of: device)
        courier.broadcasts.detach(line, of: device)
        courier.seen.saw(device, at: courier.clock.time)
    }

    var deviceKey: DeviceKey? {
        identity.map { DeviceKey(environment: $0.environment, device: $0.device) }
    }

    /// Runs work that takes time, and answers on the event loop.
    func answer(_ stream: StreamID, _ work: @escaping @Sendable () async -> DeviceAnswer) {
        let connection = NIOLoopBound(self, eventLoop: eventLoop)
        Task {
            let answer = await work()
            connection.eventLoop.execute { connection.value.respond(stream, answer) }
        }
    }
}
