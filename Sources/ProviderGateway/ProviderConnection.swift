import Connections
import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications
import Rates
import Synchronization
import Trust

/// One provider's connection. It reads requests and answers them.
///
/// Everything except ``answer(_:with:)`` runs on the connection's event loop. The requests of one read go to
/// `Delivery` together, and the answers that come at once go out in one write.
final class ProviderConnection: HTTP2Connection {
    let gateway: ProviderGateway
    let eventLoop: any EventLoop
    /// The identity of the provider's certificate, if it presented one. Provider tokens are then ignored (Guide,
    /// Table 8-2).
    private let certificate: ProviderIdentity?
    private let hasCertificate: Bool
    private let peer: String
    /// The connection's number for observers; 0 if there are none.
    private let number: UInt64
    /// Whether the request whose headers are being read is observed.
    private var isWatching = false
    private(set) var session: HTTP2Session?
    var requests = StreamTable<ProviderRequest>()
    var batch: [Submission] = []
    /// Nil until a rehearsal does something to the connection.
    var rehearsed: RehearsedConnection?
    /// The check of how the client encodes its requests, used with `strict`.
    var practice = EncodingPractice()
    /// Requests that have ended and wait because the key of one device token has to be looked up first. Later
    /// requests wait as well, so that all are accepted in order.
    private var waiting = WaitingRequests()
    var response: ProviderResponse
    private var memory = ProviderMemory()
    private var random: IdentifierRandom
    private var failedTokens = RateBucket()
    private(set) var isSuspect = false
    /// Whether it has shown who it is, and may have as many requests open as the service's load allows.
    private(set) var hasShownTrust: Bool
    /// Why the connection is ending.
    private var goneAway: Rejection.Reason?
    /// The time since when the client has to acknowledge SETTINGS.
    private var unacknowledged: NIODeadline?
    private(set) var second = NIODeadline.now()
    private var lastRequest = NIODeadline.now()
    /// Answers that came on another thread and wait for the event loop.
    private let late = Mutex<[SubmissionAnswer]>([])

    init(gateway: ProviderGateway, certificate: ProviderIdentity?, channel: any Channel) {
        self.gateway = gateway
        self.certificate = certificate
        hasCertificate = certificate != nil
        hasShownTrust = hasCertificate
        eventLoop = channel.eventLoop
        peer = channel.remoteAddress?.host ?? ""
        number = gateway.watch?.observer.connectionOpened() ?? 0
        response = ProviderResponse(environment: gateway.environment, hasDetail: gateway.answersHaveDetail)
        var system = SystemRandomNumberGenerator()
        random = IdentifierRandom(seededBy: &system)
    }

    func sessionBecameActive(_ session: HTTP2Session) {
        self.session = session
    }

    func headersBegan(_ stream: StreamID) {
        lastRequest = second
        var request = ProviderRequest(began: second)
        isWatching = gateway.watch?.isActive ?? false
        if isWatching { request.watched = WatchedRequest() }
        requests.append(stream, request)
    }

    func headerReceived(_ stream: StreamID, name: Span<UInt8>, value: Span<UInt8>) {
        if isWatching, let index = requests.index(of: stream) {
            requests[index].watched?.append(name: name, value: value)
        }
        guard let header = RequestHeader(name: name) else { return }
        if header == .authorization, hasCertificate { return }
        // One access to the table, because this is the hottest path of a request.
        requests.update(stream) { request in
            request.note(header)
            switch header {
            case .authorization: request.sender = tokenSender(value)
            case .topic: request.topic = memory.topic(value, gateway: gateway)
            default: request.read(header, value)
            }
        }
    }

    func headersEnded(_ stream: StreamID, endStream: Bool) {
        guard let index = requests.index(of: stream) else { return }
        if let certificate { identify(&requests[index], by: certificate) }
        if !memory.isCurrent(gateway) { requests[index].sender = .undecided }
        requests[index].accountsVersion = memory.version(gateway)
        if requests[index].encodingFault == nil { requests[index].encodingFault = practice.priorityFault }
        requests[index].decide(by: gateway.rules)
        judge(requests[index].sender, wasLookedAt: requests[index].wasLookedAt(by: gateway.rules))
    }

    /// Applies the result for a request's sender to the connection. The first valid provider token opens it for many
    /// requests, an invalid one limits it again until the next valid one (Guide, 2.3.3), and an invalid certificate
    /// ends it.
    /// - Parameter wasLookedAt: false if the request was refused for its shape. Its provider token then says nothing
    ///   about the connection's owner.
    private func judge(_ sender: ProviderRequest.Sender, wasLookedAt: Bool = true) {
        switch sender {
        case .token(let token):
            guard wasLookedAt else { return }
            memory.bind(to: token)
            hasShownTrust = true
            session?.announce(concurrentStreams: rehearsed?.concurrentStreams ?? gateway.load.streams)
        case .rejected(let rejection):
            guard certificate == nil else { return goAway(rejection.reason) }
            switch rejection.reason {
            case .tooManyProviderTokenUpdates: return gateway.limitLog.limitExceeded(.tokenUpdateRate, peer: peer)
            // The token is valid on another connection.
            case .unrelatedKeyIDInToken: return
            default: break
            }
            hasShownTrust = false
            session?.announce(concurrentStreams: 1)
            guard !failedTokens.admits(gateway.limits.failedTokens, at: gateway.clock.time.nanoseconds) else { return }
            isSuspect = true
            gateway.limitLog.limitExceeded(.failedTokenRate, peer: peer)
            goAway(rejection.reason)
        case .certificate, .management, .unknown, .undecided:
            break
        }
    }

    /// Rejects a request whose header list is longer than APNs allows. The table has no reason for this, so the
    /// closest one is used.
    func headersTooLarge(_ stream: StreamID) -> Bool {
        let limit = gateway.sessionConfiguration(for: certificate).maxHeaderListBytes
        reject(stream, Rejection(.payloadTooLarge, detail: "The headers are longer than \(limit) bytes."))
        return true
    }

    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        guard let index = requests.index(of: stream), !requests[index].isSettled else { return }
        requests[index].received += bytes.count
        let limit: Int
        switch requests[index].verdict {
        case .success(let addressed):
            limit = addressed.topic.payloadLimit
        case .failure where mayBecomeGood(index):
            limit = requests[index].topic.present?.payloadLimit ?? 0
        case .failure(let rejection):
            // The body is not kept, and its end is not waited for after the size of the largest payload.
            if requests[index].received > Payload.maximumVoIPBytes { return reject(stream, rejection) }
            requests[index].watched?.append(bytes)
            return
        case nil:
            return
        }
        guard requests[index].received <= limit else {
            let detail = "The payload is longer than \(limit) bytes."
            return reject(stream, Rejection(.payloadTooLarge, detail: detail))
        }
        requests[index].body.append(bytes)
    }

    func streamEnded(_ stream: StreamID) {
        guard let index = requests.index(of: stream), !requests[index].isSettled else { return }
        let lacksKey = mayBecomeGood(index)
        // A request that is refused in any case need not wait.
        if case .failure = requests[index].verdict, !lacksKey { return submit(stream) }
        guard lacksKey || !waiting.isEmpty else { return submit(stream) }
        waiting.append(stream)
        if !waiting.isSearching { findKeys() }
    }

    /// Adds a request that has ended to the batch, or rejects it.
    private func submit(_ stream: StreamID) {
        guard let index = requests.index(of: stream), !requests[index].isSettled else { return }
        do throws(Rejection) {
            let submission = try submission(stream, &requests[index])
            switch decision(index, submission, nil) {
            case .proceed?, nil: batch.append(submission)
            case .misbehave(_, let fault)?: carryOut(fault, on: stream, submission)
            }
        } catch {
            reject(stream, error)
        }
    }

    func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) {
        rehearsed?.forget(stream)
        if let index = requests.index(of: stream), let number = requests[index].watched?.number,
            !requests[index].isAnswered
        {
            gateway.watch?.observer.unanswered(number, isDiscarded: false)
        }
        requests.remove(stream)
    }

    func batchEnded() {
        memory.endBatch()
        submitBatch()
    }

    private func submitBatch() {
        guard !batch.isEmpty else { return }
        var submissions: [Submission] = []
        swap(&submissions, &batch)
        AfterBatch.handOn { gateway.delivery.submit(submissions, answers: self) }
        // Keep the memory for the next read.
        submissions.removeAll(keepingCapacity: true)
        if batch.isEmpty { swap(&submissions, &batch) }
    }

    func sessionClosed(_ end: SessionEnd) {
        session = nil
    }

    func tick(now: NIODeadline) {
        second = now
        let timeout = gateway.limits.requestTimeout
        for stream in requests.streams(where: { $0.overdue(after: timeout, now: now) != nil }) {
            // The table may have changed since.
            guard let index = requests.index(of: stream) else { continue }
            switch requests[index].overdue(after: timeout, now: now) {
            case .stuck:
                return session?.close() ?? ()
            case .answered:
                session?.reset(stream, .noError)
            case .unanswered where waiting.contains(stream):
                reject(stream, .keysNotFound)
            case .unanswered where !requests[index].isSettled:
                gateway.limitLog.limitExceeded(.requestTimeout, peer: peer)
                reject(stream, Rejection(.idleTimeout, detail: "The request did not end in time."))
            case .unanswered, nil:
                break
            }
        }
        if requests.isEmpty, lastRequest + gateway.limits.idleTimeout < now { goAway(.idleTimeout) }
        let streams = gateway.load.look(at: now)
        if hasShownTrust { session?.announce(concurrentStreams: rehearsed?.concurrentStreams ?? streams) }
        checkCertificate()
        checkSettings(now)
        if rehearsed != nil { endHanging(now) }
    }

    /// Ends the connection if its certificate was revoked or has expired, even if it sends nothing.
    private func checkCertificate() {
        guard let certificate else { return }
        defer { memory.endBatch() }
        do throws(Rejection) {
            try check(certificate)
        } catch {
            guard error.reason == .badCertificate else { return }
            // Requests that have not ended are not waited for.
            for stream in requests.streams(where: { !$0.isSettled }) { reject(stream, error) }
            goAway(error.reason)
        }
    }

    /// Ends the connection if the client does not acknowledge a smaller number of streams, because it could keep
    /// using the larger one.
    private func checkSettings(_ now: NIODeadline) {
        guard let session, session.hasUnacknowledgedSettings else { return unacknowledged = nil }
        guard let since = unacknowledged else { return unacknowledged = now }
        if since + gateway.limits.requestTimeout < now { session.goAway(.settingsTimeout) }
    }

    func drain() {
        if rehearsed != nil { endHanging(nil) }
        session?.goAwayOnceAnswered(debugData: goAwayData(.shutdown))
    }

    /// Rejects requests that did not end in time, so that the provider sends them again elsewhere. A request that
    /// was already handed to `Delivery` may still be stored, so it gets no answer here.
    func abandon() {
        for stream in requests.streams(where: { !$0.isSettled }) { reject(stream, Rejection(.shutdown)) }
    }

    private func goAway(_ reason: Rejection.Reason) {
        guard goneAway != reason else { return }
        goneAway = reason
        if reason == .idleTimeout { gateway.limitLog.limitExceeded(.idleTimeout, peer: peer) }
        session?.goAwayOnceAnswered(debugData: goAwayData(reason))
    }

    func goAwayData(_ reason: Rejection.Reason) -> [UInt8] {
        Array(ProviderResponse.body(Rejection(reason), hasDetail: gateway.answersHaveDetail).readableBytesView)
    }
}

extension ProviderConnection {
    private func tokenSender(_ value: Span<UInt8>) -> ProviderRequest.Sender {
        do throws(Rejection) {
            return .token(try memory.token(value, gateway: gateway))
        } catch {
            return .rejected(error)
        }
    }

    /// Sets a request's sender from the connection's certificate, and its topic if the request has none.
    private func identify(_ request: inout ProviderRequest, by certificate: ProviderIdentity) {
        do throws(Rejection) {
            try check(certificate)
            request.sender = .certificate(certificate)
        } catch {
            request.sender = .rejected(error)
        }
        if case .absent = request.topic, let topic = certificate.defaultTopic {
            request.topic = .value(memory.topic(topic, gateway: gateway))
        }
    }

    private func check(_ certificate: ProviderIdentity) throws(Rejection) {
        let accounts = memory.current(gateway)
        try certificate.check(
            environment: gateway.environment, isTrusted: accounts.trusts(certificate.serial), now: now)
    }

    /// The time in seconds since 1970, by the machine's clock as for certificates.
    private var now: Double { Double(gateway.clock.machineTime.milliseconds) / 1000 }

    /// Checks the sender and the app again, because the accounts may have changed since the request's headers.
    private func checkAgain(
        _ request: ProviderRequest,
        to addressed: ProviderRequest.Addressed,
    ) throws(Rejection) {
        guard memory.isCurrent(gateway) else { throw .accountsNotCurrent }
        guard memory.version(gateway) != request.accountsVersion else { return }
        let accounts = memory.current(gateway)
        switch request.sender {
        case .certificate(let certificate): try check(certificate)
        case .token(let token) where !token.isGood(in: accounts):
            let detail = "The key \(token.key) was revoked, deleted or changed."
            throw Rejection(.invalidProviderToken, detail: detail)
        default: break
        }
        guard accounts.app(addressed.destination.app) != nil else {
            throw Rejection(.topicDisallowed, detail: "The app with the topic \(addressed.topic.name) was deleted.")
        }
    }

    /// Returns the submission of a request. The request is then settled and has handed over its body.
    private func submission(_ stream: StreamID, _ request: inout ProviderRequest) throws(Rejection) -> Submission {
        guard let verdict = request.verdict else { throw Rejection(.internalServerError) }
        let addressed = try verdict.get()
        try checkAgain(request, to: addressed)
        let id = request.id.present ?? .random(using: &random)
        request.id = .value(id)
        let notification = try gateway.rules.notification(request, to: addressed.topic, id: id)
        request.isSettled = true
        request.body = []
        return Submission(
            destination: addressed.destination,
            deviceToken: addressed.deviceToken,
            generation: addressed.generation,
            notification: notification,
            ticket: UInt64(stream.rawValue),
        )
    }

    /// Rejects a request that was not handed to `Delivery`.
    private func reject(_ stream: StreamID, _ rejection: Rejection) {
        guard let index = requests.index(of: stream) else { return }
        let id = requests[index].id.present ?? .random(using: &random)
        requests[index].id = .value(id)
        if case .misbehave(_, let fault)? = decision(index, nil, rejection) {
            return carryOut(fault, on: stream, rejection)
        }
        let subject = requests[index].subject(id)
        gateway.deliveryLog.record(
            DeliveryEvent(time: gateway.clock.time, step: .rejected(rejection.reason), subject: subject))
        refuse(stream, rejection)
    }

    /// - Parameter retryAfter: in seconds; nil for an answer without that header.
    func refuse(_ stream: StreamID, _ rejection: Rejection, retryAfter: Int? = nil) {
        guard let index = requests.index(of: stream) else { return }
        requests[index].isSettled = true
        requests[index].isAnswered = true
        requests[index].body = []
        let id = requests[index].id.present ?? .random(using: &random)
        let (headers, body) = response.rejected(rejection, id, retryAfter: retryAfter)
        let watched = requests[index].watched
        session?.respond(stream, headers, body: body)
        if let watched { answered(watched, RequestAnswer(rejection)) }
        if rehearsed != nil { countAnswer() }
    }

    private func answer(_ stream: StreamID, _ outcome: Outcome) {
        if rehearsed != nil, isRehearsed(stream, outcome) { return }
        answerNow(stream, outcome)
    }

    func answerNow(_ stream: StreamID, _ outcome: Outcome) {
        // The client may have cancelled the request meanwhile.
        guard let index = requests.index(of: stream) else { return }
        switch outcome {
        case .accepted:
            guard let id = requests[index].id.present else { return }
            requests[index].isAnswered = true
            let watched = requests[index].watched
            session?.respond(stream, response.accepted(id), body: nil)
            if let watched { answered(watched, RequestAnswer(status: 200)) }
            if rehearsed != nil { countAnswer() }
        case .rejected(var rejection):
            if rejection.reason == .tooManyRequests { gateway.limitLog.limitExceeded(.tokenRate, peer: peer) }
            // The provider does not know that the clock was advanced.
            rejection.timestamp = rejection.timestamp.map {
                gateway.clock.clientTime(of: Timestamp(milliseconds: $0)).milliseconds
            }
            refuse(stream, rejection)
            // The fault is the service's own. Another connection may reach a service without the fault.
            if rejection.reason == .internalServerError { goAway(.internalServerError) }
        }
    }

    private func answerLate() {
        let answers = late.withLock { late in
            defer { late = [] }
            return late
        }
        for (ticket, outcome) in answers { answer(StreamID(Int32(truncatingIfNeeded: ticket)), outcome) }
    }
}

// Reporting requests to observers.
extension ProviderConnection {
    /// Reports the decision about a request to the observer.
    /// - Parameter submission: the submission that is about to be handed over; nil if the request is rejected.
    /// - Returns: What to do with the request; nil if nobody observes it.
    private func decision(_ index: Int, _ submission: Submission?, _ rejection: Rejection?) -> RequestDecision? {
        guard let watched = requests[index].watched, let watch = gateway.watch else { return nil }
        guard let id = requests[index].id.present else { return nil }
        if practice.priorityFault != nil { watched.practices.insert(.priorityFrames) }
        let facts = requests[index].facts(
            watched, submission, rejection, id: id, connection: number, at: gateway.clock.time, by: gateway.rules,
            memory.current(gateway))
        let decision = watch.observer.decided(facts)
        watched.number = decision.number
        return decision
    }

    func answered(_ watched: WatchedRequest, _ answer: RequestAnswer) {
        guard let number = watched.number else { return }
        gateway.watch?.observer.answered(number, answer)
    }
}

// Device tokens whose key another node may have made.
extension ProviderConnection {
    /// Returns whether a request is refused only for its device token, and only because a key that may exist is
    /// missing here.
    private func mayBecomeGood(_ index: Int) -> Bool {
        gateway.rules.tokenKeys.mayLackKeys && requests[index].hasUnopenedToken
    }

    private func findKeys() {
        waiting.beginSearch()
        let (keys, connection) = (gateway.rules.tokenKeys, NIOLoopBound(self, eventLoop: eventLoop))
        Task {
            let isAnswered: Bool
            do {
                try await keys.findKeys()
                isAnswered = true
            } catch {
                isAnswered = false
            }
            connection.eventLoop.execute { connection.value.searched(isAnswered: isAnswered) }
        }
    }

    /// Handles the end of a look-up of keys: decides the requests that waited for it, and those after them up to the
    /// next one that needs a look-up.
    /// - Parameter isAnswered: false if the store could not be asked. It is then unknown whether a token is invalid.
    private func searched(isAnswered: Bool) {
        let sought = waiting.endSearch()
        var taken = 0
        while let stream = waiting.first {
            if let index = requests.index(of: stream), mayBecomeGood(index) {
                requests[index].decide(by: gateway.rules)
                if mayBecomeGood(index) {
                    guard taken < sought else { break }
                    if !isAnswered { requests[index].verdict = .failure(.keysNotFound) }
                }
            }
            waiting.removeFirst()
            taken += 1
            submit(stream)
        }
        submitBatch()
        memory.endBatch()
        if !waiting.isEmpty { findKeys() }
    }
}

extension Rejection {
    fileprivate static let keysNotFound = Rejection(
        .serviceUnavailable, detail: "The key of the device token could not be looked up.")
}

/// The only entry from other threads. `@unchecked` because everything else is confined to the event loop, which the
/// compiler cannot see. Only ``late`` is shared, behind its lock.
extension ProviderConnection: SubmissionAnswers, @unchecked Sendable {
    func answer(_ ticket: UInt64, with outcome: Outcome) {
        if eventLoop.inEventLoop {
            return answer(StreamID(Int32(truncatingIfNeeded: ticket)), outcome)
        }
        answerLater { $0.append((ticket, outcome)) }
    }

    func answer(_ answers: [SubmissionAnswer]) {
        if eventLoop.inEventLoop {
            for (ticket, outcome) in answers { answer(ticket, with: outcome) }
        } else {
            answerLater { $0.append(contentsOf: answers) }
        }
    }

    /// - Parameter add: adds at least one answer to those that wait for the event loop.
    private func answerLater(_ add: (inout [SubmissionAnswer]) -> Void) {
        let isFirst = late.withLock { late in
            defer { add(&late) }
            return late.isEmpty
        }
        if isFirst { eventLoop.execute { self.answerLate() } }
    }
}
