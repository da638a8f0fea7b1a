import Connections
import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications
import Synchronization
import Trust

/// One provider's connection. It reads requests and answers them.
///
/// Everything except what takes answers (``SubmissionAnswers``, ``ForwardingAnswers``) runs on the connection's event loop. All
/// requests that one read completes are passed to `Delivery` together, and answers that are known at once are written
/// together.
final class ProviderConnection: AuthenticatingConnection {
    let api: ProviderAPI
    let rules: RequestRules
    let eventLoop: any EventLoop
    let certificate: ProviderIdentity?
    let peer: String
    /// The connection's number in the journal; 0 if nobody may observe requests.
    let number: UInt64
    /// The newest request that was observed before the connection was ending: its number in the journal. And the team of the
    /// newest one.
    var newestObserved: (number: UInt64, team: TeamID?) = (0, nil)
    /// The server name in the TLS handshake, if that was observed.
    let serverName: String?
    private(set) var session: HTTP2Session?
    var requests = StreamTable<ProviderRequest>()
    /// Whether the request whose headers came last is observed. Headers of two requests never alternate (RFC 9113, 4.3).
    private var newestIsWatched = false
    var batch: [Submission] = []
    /// The memory of the open requests that counts as untrusted in the provider API, in KiB.
    var untrusted = 0
    /// The faults of rehearsals on this connection; nil until there is one.
    var rehearsed: RehearsedConnection?
    /// The check of how the client encodes its requests, used with `strict`.
    var practice = EncodingPractice()
    private var connectionPractice = ConnectionPractice()
    /// Requests that have ended and wait for a look-up of the key of a device token. Later requests wait too, so that
    /// all are accepted in their order.
    var waiting = WaitingRequests()
    var response: ProviderResponse
    var memory: ProviderMemory
    var random: IdentifierRandom
    var trust: ConnectionTrust
    var goneAway: Rejection.Reason?
    /// Since when the service waits for the client to acknowledge SETTINGS.
    private var unacknowledged: NIODeadline?
    private(set) var second = NIODeadline.now()
    /// When the last request began, or the last PING came.
    private var lastUse = NIODeadline.now()
    /// Answers from other threads that wait for the event loop.
    let late = Mutex<[SubmissionAnswer]>([])
    /// The notifications of this batch that go to upstreams.
    var forwards: [(upstream: AppUpstream, pushes: [TicketedPush])] = []
    /// Answers of upstreams, from other threads.
    let lateForwarding = Mutex<[(ticket: UInt64, answer: ForwardingAnswer)]>([])
    /// The requests of this batch whose handles have to be looked up.
    var lookUps: [(StreamID, Handle)] = []

    init(api: ProviderAPI, certificate: ProviderIdentity?, accepted: AcceptedConnection) {
        self.api = api
        self.certificate = certificate
        let firstSight = api.firstSight(for: accepted)
        rules = api.rules.using(firstSight)
        memory = ProviderMemory(firstSight: firstSight)
        trust = ConnectionTrust(hasCertificate: certificate != nil)
        eventLoop = accepted.channel.eventLoop
        peer = accepted.peer
        number = accepted.handshake?.number ?? api.observation?.observer.connectionOpened() ?? 0
        serverName = accepted.handshake?.serverName
        response = ProviderResponse(environment: api.environment, hasDetail: api.answersHaveDetail)
        var system = SystemRandomNumberGenerator()
        random = IdentifierRandom(seededBy: &system)
    }

    func sessionBecameActive(_ session: HTTP2Session) {
        self.session = session
    }

    func headersBegan(_ stream: StreamID) {
        lastUse = second
        guard admitUntrusted(weight: 1) else {
            newestIsWatched = false
            return session?.reset(stream, .refusedStream) ?? ()
        }
        let request = ProviderRequest(began: second)
        if !trust.isShown { request.untrustedWeight = 1 }
        let isWatching = api.observation?.isActive ?? false
        let practices = connectionPractice.requestBegan(
            isIdle: requests.isEmpty, isObserved: isWatching, silence: api.limits.uncheckedSilence, at: .now())
        if isWatching { request.watched = WatchedRequest(practices) }
        newestIsWatched = isWatching
        if memory.keepsTexts(api) { request.texts = [:] }
        requests.append(stream, request)
    }

    func headerReceived(_ stream: StreamID, name: Span<UInt8>, value: Span<UInt8>) {
        let header = RequestHeader(name: name)
        // A third of the usual headers is not the API's. Ignore these before anything is looked up.
        guard header != nil || newestIsWatched, let request = requests[stream] else { return }
        request.watched?.append(name: name, value: value)
        // The session limits the size of all headers together.
        request.headerBytes += name.count + value.count
        guard let header else { return }
        if let asked = request.asked {
            switch header {
            case .authorization: asked.authorize(value)
            case .method: request.read(header, value)
            default: break
            }
            return
        }
        if header == .authorization, certificate != nil { return }
        request.recordHeader(header)
        switch header {
        case .authorization: request.sender = memory.sender(value, api: api)
        case .topic: request.topic = memory.topic(value, api: api)
        default: request.read(header, value)
        }
    }

    func headersEnded(_ stream: StreamID, endStream: Bool) {
        guard let request = requests[stream] else { return }
        defer { if !trust.isShown { admitUntrusted(request, stream) } }
        guard request.asked == nil else { return }
        if let certificate { identify(request, by: certificate) }
        if !memory.isCurrent(api) { request.sender = .undecided }
        request.accountsVersion = memory.version(api)
        if let broadcast = request.broadcast {
            broadcast.accounts = memory.current(api)
        } else if let grant = request.grantID.flatMap({ memory.current(api).grants[$0] }) {
            request.granted = GrantedRequest(grant, at: api.clock.time)
        }
        if request.encodingFault == nil { request.encodingFault = practice.priorityFault }
        request.decide(by: rules)
        if let forwarded = request.forwarded { passAuthorization(of: request, to: forwarded) }
        judge(request.sender, hasShape: request.hasShape(by: rules))
    }

    /// The first valid provider token allows many open requests. An invalid token limits them again, until the next
    /// valid one (Guide, 2.3.3).
    func trustChanged() {
        if trust.isShown { releaseUntrusted(untrusted) }
        session?.announce(
            concurrentStreams: trust.isShown ? rehearsed?.concurrentStreams ?? api.load.streams : 1)
    }

    /// Rejects a request whose header list is longer than APNs allows. The Guide's table has no reason for this, so
    /// the closest one is used.
    func headersTooLarge(_ stream: StreamID) -> Bool {
        let limit = api.sessionConfiguration(for: certificate).maxHeaderListBytes
        reject(stream, Rejection(.payloadTooLarge, detail: "The headers are longer than \(limit) bytes."))
        return true
    }

    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        guard let request = requests[stream], !request.isHandled else { return }
        request.received += bytes.count
        guard trust.isShown || admitUntrusted(request, stream) else { return }
        if request.asked != nil { return gatewayReceived(bytes, request, stream) }
        if request.broadcast != nil { return broadcastReceived(bytes, request, stream) }
        if let granted = request.granted { return grantedReceived(bytes, request, granted, stream) }
        if let forwarded = request.forwarded { return forwardedReceived(bytes, request, forwarded, stream) }
        let limit: Int
        switch request.verdict {
        case .success(let addressed):
            limit = addressed.topic.payloadLimit
        case .failure where mayBecomeGood(request):
            limit = request.topic.present?.payloadLimit ?? 0
        case .failure(let rejection):
            // Do not keep the body. After as many bytes as the largest payload has, do not wait for its end either.
            if request.received > Payload.maximumVoIPBytes { return reject(stream, rejection) }
            request.watched?.append(bytes)
            return
        case nil:
            return
        }
        guard request.received <= limit else {
            let detail = "The payload is longer than \(limit) bytes."
            request.keepBeginning(bytes, limit: limit)
            return reject(stream, Rejection(.payloadTooLarge, detail: detail))
        }
        request.body.append(bytes)
    }

    func streamEnded(_ stream: StreamID) {
        guard let request = requests[stream] else { return }
        request.hasEnded = true
        guard !request.isHandled else { return }
        if let asked = request.asked { return gatewayEnded(stream, request, asked) }
        if request.broadcast != nil { return broadcast(stream, request) }
        if let granted = request.granted, !granted.isResolved { return grantEnded(stream, request, granted) }
        if let forwarded = request.forwarded { return forwardEnded(stream, request, forwarded) }
        let mayBecomeGood = mayBecomeGood(request)
        // If the request is rejected in any case, it need not wait.
        if case .failure = request.verdict, !mayBecomeGood { return submit(stream, request) }
        guard mayBecomeGood || !waiting.isEmpty else { return submit(stream, request) }
        waiting.append(stream)
        if !waiting.isSearching { findKeys() }
    }

    /// Adds a request that has ended to the batch, or rejects it.
    func submit(_ stream: StreamID, _ request: ProviderRequest) {
        guard !request.isHandled else { return }
        do throws(Rejection) {
            let submission = try submission(stream, request)
            switch decision(request, submission, nil) {
            case .proceed?, nil: batch.append(submission)
            case .misbehave(_, let fault)?:
                batch.append(contentsOf: repeatElement(submission, count: prepare(fault, on: stream)))
            }
        } catch {
            reject(stream, error)
        }
    }

    func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) {
        if rehearsed != nil { forgetFaults(of: stream) }
        let request = requests.remove(stream)
        if let request { releaseUntrusted(request.untrustedWeight) }
        if let request, !request.isAnswered, let number = request.watched?.number {
            // If a rehearsal has closed the connection, what came with its request is never delivered here. What goes to
            // an upstream is handed over when the session is closed.
            let isDiscarded =
                session?.isActive != true
                && batch.contains { StreamID(ticket: $0.ticket) == stream }
            api.observation?.observer.unanswered(number, isDiscarded: isDiscarded)
        }
    }

    func batchEnded() {
        memory.endBatch()
        submitBatch()
        submitForwards()
        lookUpHandles()
    }

    func submitBatch() {
        guard !batch.isEmpty else { return }
        var submissions: [Submission] = []
        swap(&submissions, &batch)
        AfterBatch.handOn { api.delivery.submit(submissions, answers: self) }
        // Keep the memory for the next read.
        submissions.removeAll(keepingCapacity: true)
        if batch.isEmpty { swap(&submissions, &batch) }
    }

    func settingsReceived(_ settings: PeerSettings) { connectionPractice.settingsReceived(settings) }
    func windowUpdateReceived() { connectionPractice.windowUpdateReceived() }
    func pingReceived() {
        lastUse = second
        connectionPractice.pingReceived(at: .now())
    }

    func sessionClosed(_ end: SessionEnd) {
        if let session { observeUnprocessed(session.unprocessedStreams) }
        session = nil
        batch = []
        submitForwards()
        releaseUntrusted(untrusted)
        // If the service ended the connection for another reason, this says nothing about the client.
        if connectionPractice.requests == 0, goneAway == nil || goneAway == .idleTimeout { observeUnused() }
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
        if requests.isEmpty, lastUse + api.limits.idleTimeout < now { goAway(.idleTimeout) }
        api.load.update(at: now)
        if trust.isShown { trustChanged() }
        checkCertificate()
        checkSettings(now)
        if rehearsed != nil { endHanging(now) }
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
