import Connections
import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications
import Synchronization
import Trust

/// One provider's connection. It reads requests, decides what each asks for, and hands it to the route of its kind.
///
/// Everything except what takes answers (`SubmissionAnswers`, `ForwardingAnswers`) runs on the connection's event loop. What all
/// requests of one read need is asked for together, and answers that are known at once are written together.
final class ProviderConnection: AuthenticatingConnection {
    let api: ProviderAPI
    let rules: RequestRules
    let eventLoop: any EventLoop
    let certificate: ProviderIdentity?
    let peer: String
    private(set) var session: HTTP2Session?
    var requests = StreamTable<ProviderRequest>()
    /// The memory of the open requests that counts as untrusted in the provider API, in KiB.
    var untrusted = 0
    var held = HeldBytes()
    let accepted: AcceptedConnection
    var scene: (any RequestScene)?
    var fixedStreams: Int?
    /// The check of how the client encodes its requests, used with `strict`.
    var practice = EncodingPractice()
    var response: ProviderResponse
    var memory: ProviderMemory
    private var fieldMemory = FieldMemory()
    var identifiers: IdentifierGenerator
    var trust: ConnectionTrust
    var goneAway: Rejection.Reason?
    /// Since when the service waits for the client to acknowledge SETTINGS.
    private var unacknowledged: NIODeadline?
    private(set) var second = NIODeadline.now()
    /// A request that begins is a use, and so is a PING.
    private var idle = IdleTime()

    // MARK: What the routes keep

    /// The notifications of this batch for devices.
    var batch: [Submission] = []
    /// Requests that have ended and wait for a look-up of the key of a device token. Later requests wait too, so that
    /// all are accepted in their order.
    var waiting = WaitingRequests()
    /// The notifications of this batch for upstreams.
    var pushes: [(upstream: AppUpstream, pushes: [TicketedPush])] = []
    /// Forwarded requests that their client has cancelled, until the upstream has answered, for the delivery log. Each gets an
    /// answer within ``ForwardingLimits/answerTime``, and no more wait than ``ForwardingLimits/waiting``.
    var cancelled: [StreamID: NotificationSubject] = [:]
    /// The requests of this batch whose handles have to be looked up.
    var lookUps: [(StreamID, Handle)] = []
    /// Answers from other threads that wait for the event loop.
    let late = Mutex<[SubmissionAnswer]>([])
    /// Answers of upstreams, from other threads.
    let lateForwarding = Mutex<[(ticket: UInt64, answer: ForwardingAnswer)]>([])

    var provider: ProviderAPI { api }

    init(api: ProviderAPI, certificate: ProviderIdentity?, accepted: AcceptedConnection) {
        self.api = api
        self.certificate = certificate
        self.accepted = accepted
        let firstSight = api.firstSight(for: accepted)
        rules = api.rules.using(firstSight)
        memory = ProviderMemory(firstSight: firstSight)
        trust = ConnectionTrust(hasCertificate: certificate != nil)
        eventLoop = accepted.channel.eventLoop
        peer = accepted.peer
        response = ProviderResponse(environment: api.environment, hasDetail: api.answersHaveDetail)
        var system = SystemRandomNumberGenerator()
        identifiers = IdentifierGenerator(seededBy: &system)
    }

    func sessionBecameActive(_ session: HTTP2Session) {
        self.session = session
        beginUntrusted(session)
    }

    // MARK: Fields

    func fieldsReceived(_ stream: StreamID, _ fields: FieldList, endStream: Bool) {
        guard let request = read(fields, of: stream) else { return }
        defer { if !trust.isShown { admitUntrusted(request, stream) } }
        if case .handles = request.path {
            // It is no notification, so nobody else sees it.
            request.scene = nil
            return decide(request)
        }
        if let certificate { identify(request, by: certificate) }
        if !memory.isCurrent(api) { request.sender = .undecided }
        request.accountsVersion = memory.version(api)
        if request.encodingFault == nil { request.encodingFault = practice.priorityFault }
        decide(request)
        judge(request.sender, hasShape: request.hasShape(by: rules))
    }

    /// Reads a request's fields.
    /// - Returns: nil if the request is refused, because it is from an unknown sender and there is no room for it.
    private func read(_ fields: FieldList, of stream: StreamID) -> ProviderRequest? {
        idle.noteUse()
        guard admitUntrusted(weight: 1) else {
            fieldMemory.forget()
            session?.reset(stream, .refusedStream)
            return nil
        }
        let request = ProviderRequest(began: second)
        if !trust.isShown { request.untrustedWeight = 1 }
        request.scene = scene
        if memory.keepsTexts(api) { request.texts = [:] }
        requests.append(stream, request)
        for index in 0..<fields.count {
            let name = fields.bytes.span.extracting(fields.name(index))
            if rules.conformance == .strict, let fault = practice.fault(in: name, as: fields.form(index)) {
                request.encodingFault = request.encodingFault ?? fault
            }
            let isRepeated = fields.isRepeated(index)
            // A third of the usual headers is not the API's.
            guard let header = fieldMemory.header(name, at: index, isRepeated: isRepeated) else { continue }
            let value = fields.bytes.span.extracting(fields.value(index))
            // The session limits the size of all headers together.
            request.headerBytes += name.count + value.count
            read(header, value, isRepeated: isRepeated, into: request)
        }
        fieldMemory.keep(request)
        return request
    }

    /// - Parameter isRepeated: whether the request before had the same field in the same place.
    private func read(_ header: RequestHeader, _ value: Span<UInt8>, isRepeated: Bool, into request: ProviderRequest) {
        if case .handles = request.path {
            if header == .authorization { request.clientKey = HandleRequest.clientKey(value) }
            if header == .method { request.read(header, value) }
            return
        }
        if header == .authorization, certificate != nil { return }
        request.recordHeader(header)
        let isKnown = isRepeated && fieldMemory.hasMeaning(in: request)
        switch header {
        case .authorization: request.sender = memory.sender(value, isRepeated: isKnown, api: api)
        case .topic: request.topic = memory.topic(value, isRepeated: isKnown, api: api)
        case .priority:
            if isKnown, let values = fieldMemory.values { return request.priority = values.priority }
            request.read(header, value)
        case .pushType:
            if isKnown, let values = fieldMemory.values { return request.pushType = values.pushType }
            request.read(header, value)
        default: request.read(header, value)
        }
    }

    /// Rejects a request whose header list is longer than APNs allows. The Guide's table has no reason for this, so
    /// the closest one is used.
    func fieldsTooLarge(_ stream: StreamID, _ fields: FieldList) -> Bool {
        guard read(fields, of: stream) != nil else { return true }
        let limit = api.sessionConfiguration(for: certificate).limits.maxHeaderListBytes
        reject(stream, Rejection(.payloadTooLarge, detail: "The headers are longer than \(limit) bytes."))
        return true
    }

    func malformedRequest(_ stream: StreamID, error: HTTP2ErrorCode, rule: String) { idle.noteUse() }

    func priorityReceived(_ stream: StreamID) { practice.priorityReceived(stream) }

    /// Decides what a request asks for, with the accounts of this batch.
    func decide(_ request: ProviderRequest) {
        request.kind = rules.kind(of: request, in: memory.current(api), at: api.clock.time)
        if case .upstream(let push) = request.kind { UpstreamRoute.passAuthorization(of: request, to: push, memory) }
    }

    /// Sets a request's sender from the connection's certificate, and its topic if the request has none.
    private func identify(_ request: ProviderRequest, by certificate: ProviderIdentity) {
        do throws(Rejection) {
            try memory.check(certificate, api: api)
            request.sender = .certificate(certificate)
        } catch {
            request.sender = .rejected(error)
        }
        if case .absent = request.topic, let topic = certificate.defaultTopic {
            request.topic = .value(memory.topic(topic, api: api))
        }
    }

    /// Checks the sender and the app again, because the accounts may have changed since the request's fields were judged.
    /// - Parameter deletion: the rejection if the app was deleted.
    func checkAgain(
        _ request: ProviderRequest,
        to app: AppID,
        deletion: @autoclosure () -> Rejection,
    ) throws(Rejection) {
        try memory.checkAgain(request, to: app, api: api, deletion: deletion())
    }

    // MARK: Bodies

    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        guard let request = requests[stream], !request.isHandled else { return }
        request.received += bytes.count
        guard trust.isShown || admitUntrusted(request, stream) else { return }
        switch request.kind.bodyRoom {
        case .bytes(let limit):
            guard request.received <= limit else { return reject(stream, .payloadTooLarge(limit)) }
        case .compared(let limit, let push):
            guard request.received <= UpstreamPush.maximumComparedBytes else {
                return reject(stream, .payloadTooLarge(limit))
            }
            if request.received > limit { push.refusal = push.refusal ?? .payloadTooLarge(limit) }
        case .nothing(let rejection):
            guard DeviceRoute.mayBecomeGood(request, of: self) else {
                // Do not keep the body. After as many bytes as the largest payload has, do not wait for its end either.
                if request.received > Payload.maximumVoIPBytes { reject(stream, rejection) }
                return
            }
            let limit = request.topic.present?.payloadLimit ?? 0
            guard request.received <= limit else { return reject(stream, .payloadTooLarge(limit)) }
        }
        request.body.append(bytes)
    }

    func streamEnded(_ stream: StreamID) {
        guard let request = requests[stream] else { return }
        request.hasEnded = true
        guard !request.isHandled else { return }
        switch request.kind {
        case .device, .refusal: DeviceRoute.ended(request, on: stream, of: self)
        case .broadcast(let push): BroadcastRoute.ended(request, push, on: stream, of: self)
        case .upstream(let push): UpstreamRoute.ended(request, push, on: stream, of: self)
        case .grant(let push): GrantRoute.ended(request, push, on: stream, of: self)
        case .handles(let handleRequest): HandleRoute.ended(request, handleRequest, on: stream, of: self)
        }
    }

    func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) {
        guard let request = requests.remove(stream) else { return }
        if let subject = UpstreamRoute.subject(ofUnanswered: request, of: self) { cancelled[stream] = subject }
        releaseUntrusted(request.untrustedWeight)
    }

    func batchEnded() {
        memory.endBatch()
        DeviceRoute.submitBatch(of: self)
        UpstreamRoute.submitBatch(of: self)
        GrantRoute.submitBatch(of: self)
        limitHeldBytes()
    }

    // MARK: The connection

    /// The first valid provider token allows many open requests. An invalid token limits them again, until the next
    /// valid one (Guide, 2.3.3).
    func trustChanged() {
        if trust.isShown { showedTrust() }
        session?.announce(concurrentStreams: trust.isShown ? fixedStreams ?? api.load.streams : 1)
    }

    func pingReceived() { idle.noteUse() }

    func sessionClosed(_ end: SessionEnd) {
        session = nil
        batch = []
        UpstreamRoute.submitBatch(of: self)
        releaseUntrusted(untrusted)
    }

    func tick(now: NIODeadline) {
        second = now
        let timeout = api.limits.requestTimeout
        for stream in requests.streams(where: { $0.overdue(after: timeout, now: now) != nil }) {
            // The table of requests may have changed meanwhile.
            guard let request = requests[stream] else { continue }
            switch request.overdue(after: timeout, now: now) {
            case .stuck:
                return session?.close() ?? ()
            case .answered:
                session?.reset(stream, .noError)
            case .unanswered where waiting.contains(stream):
                reject(stream, .keysNotFound)
            case .unanswered where !request.isHandled:
                api.limitLog.limitExceeded(.requestTimeout, peer: peer)
                reject(stream, Rejection(.idleTimeout, detail: "The request did not end in time."))
            case .unanswered, nil:
                break
            }
        }
        if session?.closeIfFieldsAreOverdue(after: timeout, now: now) == true {
            return api.limitLog.limitExceeded(.requestTimeout, peer: peer)
        }
        limitHeldBytes()
        if requests.isEmpty, idle.exceeds(api.limits.idleTimeout, at: now) { goAway(.idleTimeout) }
        api.load.update(at: now)
        if trust.isShown { trustChanged() }
        checkCertificate()
        checkSettings(now)
    }

    /// Ends the connection if the client does not acknowledge a smaller number of streams. Otherwise it could ignore
    /// the new number.
    private func checkSettings(_ now: NIODeadline) {
        guard let session, session.hasUnacknowledgedSettings else { return unacknowledged = nil }
        guard let since = unacknowledged else { return unacknowledged = now }
        if since + api.limits.requestTimeout < now { session.goAway(.settingsTimeout) }
    }

    var unhandledRequests: [StreamID] { requests.streams(where: { !$0.isHandled }) }
}

extension ProviderRequest {
    /// Whether the request passed the shape checks, so that its sender was checked.
    fileprivate func hasShape(by rules: RequestRules) -> Bool {
        if case .refusal = kind { rules.hasShape(self) } else { true }
    }
}

extension Rejection {
    static func payloadTooLarge(_ limit: Int) -> Rejection {
        Rejection(.payloadTooLarge, detail: "The payload is longer than \(limit) bytes.")
    }
}
