import Connections
import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications
import Rates
import Synchronization
import Trust

/// One provider's connection: reads its requests, and answers them.
///
/// All but ``answer(_:with:)`` happens on the connection's event loop. The requests of one read go to `Delivery`
/// together, and what it answers at once goes out in one write.
final class ProviderConnection: HTTP2Connection {
    let gateway: ProviderGateway
    let eventLoop: any EventLoop
    /// Who it is, where it presented a certificate; provider tokens are ignored then (Guide, Table 8-2).
    private let certificate: ProviderIdentity?
    private let hasCertificate: Bool
    private let peer: String
    /// As observers count connections; 0 where there are none.
    private let number: UInt64
    /// Whether the request whose headers come now is observed.
    private var isWatching = false
    private(set) var session: HTTP2Session?
    var requests = StreamTable<ProviderRequest>()
    var batch: [Submission] = []
    /// Nil until a rehearsal does something to the connection.
    var rehearsed: RehearsedConnection?
    /// What `strict` finds in how the client encodes its requests.
    var practice = EncodingPractice()
    /// Requests that have ended, one with a device token whose key has to be looked for first: what came after it waits as
    /// well, so that all are accepted in their order.
    private var waiting = WaitingRequests()
    var response: ProviderResponse
    private var memory = ProviderMemory()
    private var random: IdentifierRandom
    private var failedTokens = RateBucket()
    private(set) var isSuspect = false
    /// Whether it has shown who it is, and may have as many requests open as the service's load allows.
    private var isOpen: Bool
    /// Why the connection is ending.
    private var goneAway: Rejection.Reason?
    /// Since when the client owes an acknowledgement of SETTINGS.
    private var unacknowledged: NIODeadline?
    private(set) var second = NIODeadline.now()
    private var lastRequest = NIODeadline.now()
    /// Answers that came on another thread and wait for the event loop.
    private let late = Mutex<[SubmissionAnswer]>([])

    init(gateway: ProviderGateway, certificate: ProviderIdentity?, channel: any Channel) {
        self.gateway = gateway
        self.certificate = certificate
        hasCertificate = certificate != nil
        isOpen = hasCertificate
        eventLoop = channel.eventLoop
        peer = channel.remoteAddress?.ipAddress ?? ""
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
        // In one go: this is the place where most of a request's time goes.
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

    /// What the sender of a request means for the connection: the first good provider token opens it for many requests,
    /// a bad one closes it again until the next good one (Guide, 2.3.3); a bad certificate ends it.
    /// - Parameter wasLookedAt: false for a request that was refused for its shape alone; its good provider token says
    ///   nothing of whose the connection is.
    private func judge(_ sender: ProviderRequest.Sender, wasLookedAt: Bool = true) {
        switch sender {
        case .token(let token):
            guard wasLookedAt else { return }
            memory.bind(to: token)
            isOpen = true
            session?.announce(concurrentStreams: rehearsed?.concurrentStreams ?? gateway.load.streams)
        case .rejected(let rejection):
            guard certificate == nil else { return goAway(rejection.reason) }
            switch rejection.reason {
            case .tooManyProviderTokenUpdates: return gateway.limitLog.struck(.tokenUpdateRate, peer: peer)
            // The token is good, on another connection.
            case .unrelatedKeyIDInToken: return
            default: break
            }
            isOpen = false
            session?.announce(concurrentStreams: 1)
            guard !failedTokens.admits(gateway.limits.failedTokens, at: gateway.clock.time.nanoseconds) else { return }
            isSuspect = true
            gateway.limitLog.struck(.failedTokenRate, peer: peer)
            goAway(rejection.reason)
        case .certificate, .unknown, .undecided:
            break
        }
    }

    /// The header list is longer than APNs takes; there is no reason for it in the table, so the nearest one says so.
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
            // Not kept, and not waited for beyond what any payload may have.
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
        // What is refused whatever comes before it need not wait.
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
        // The room is kept for the next read.
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
            // The table changes meanwhile.
            guard let index = requests.index(of: stream) else { continue }
            switch requests[index].overdue(after: timeout, now: now) {
            case .stuck:
                return session?.close() ?? ()
            case .answered:
                session?.reset(stream, .noError)
            case .unanswered where waiting.contains(stream):
                reject(stream, .keysNotFound)
            case .unanswered where !requests[index].isSettled:
                gateway.limitLog.struck(.requestTimeout, peer: peer)
                reject(stream, Rejection(.idleTimeout, detail: "The request did not end in time."))
            case .unanswered, nil:
                break
            }
        }
        if requests.isEmpty, lastRequest + gateway.limits.idleTimeout < now { goAway(.idleTimeout) }
        let streams = gateway.load.look(at: now)
        if isOpen { session?.announce(concurrentStreams: rehearsed?.concurrentStreams ?? streams) }
        checkCertificate()
        checkSettings(now)
        if rehearsed != nil { endHanging(now) }
    }

    /// A certificate that is revoked or expires ends its connections, whether they send or not.
    private func checkCertificate() {
        guard let certificate else { return }
        defer { memory.endBatch() }
        do throws(Rejection) {
            try check(certificate)
        } catch {
            guard error.reason == .badCertificate else { return }
            // What has not ended is not waited for.
            for stream in requests.streams(where: { !$0.isSettled }) { reject(stream, error) }
            goAway(error.reason)
        }
    }

    /// A client that never acknowledges a smaller number of streams would keep the larger one.
    private func checkSettings(_ now: NIODeadline) {
        guard let session, session.hasUnacknowledgedSettings else { return unacknowledged = nil }
        guard let since = unacknowledged else { return unacknowledged = now }
        if since + gateway.limits.requestTimeout < now { session.goAway(.settingsTimeout) }
    }

    func drain() {
        if rehearsed != nil { endHanging(nil) }
        session?.goAwayOnceAnswered(debugData: goAwayData(.shutdown))
    }

    /// A request that did not end in time is answered, so that the provider knows to send it again elsewhere. What was
    /// handed over already may yet be stored: of that nothing is said.
    func abandon() {
        for stream in requests.streams(where: { !$0.isSettled }) { reject(stream, Rejection(.shutdown)) }
    }

    private func goAway(_ reason: Rejection.Reason) {
        guard goneAway != reason else { return }
        goneAway = reason
        if reason == .idleTimeout { gateway.limitLog.struck(.idleTimeout, peer: peer) }
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

    /// What the connection's certificate says of a request: who sends it, and to what where it does not say so itself.
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

    /// Seconds since 1970, as certificates count them.
    private var now: Double { Double(gateway.clock.machineTime.milliseconds) / 1000 }

    /// The accounts may have changed since a request's headers: what was revoked meanwhile is worth nothing.
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

    /// The request is settled with it, and gives its body away.
    private func submission(_ stream: StreamID, _ request: inout ProviderRequest) throws(Rejection) -> Submission {
        guard let verdict = request.verdict else { throw Rejection(.internalServerError) }
        let addressed = try verdict.get()
        try checkAgain(request, to: addressed)
        let id = request.id.present ?? .random(using: &random)
        guard case .deviceToken(let deviceToken) = request.path else { throw Rejection(.missingDeviceToken) }
        request.id = .value(id)
        let notification = try gateway.rules.notification(request, to: addressed.topic, id: id)
        request.isSettled = true
        request.body = []
        return Submission(
            destination: addressed.destination,
            deviceToken: deviceToken,
            generation: addressed.generation,
            notification: notification,
            ticket: UInt64(stream.rawValue),
        )
    }

    /// Rejects a request that `Delivery` never had.
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
        // The client may have given up meanwhile.
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
            if rejection.reason == .tooManyRequests { gateway.limitLog.struck(.tokenRate, peer: peer) }
            // The provider does not know that the clock was advanced.
            rejection.timestamp = rejection.timestamp.map {
                gateway.clock.clientTime(of: Timestamp(milliseconds: $0)).milliseconds
            }
            refuse(stream, rejection)
            // The service itself is at fault: another connection may reach one that is not.
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

// What observers are shown.
extension ProviderConnection {
    /// Tells the observer what was decided about a request.
    /// - Parameter submission: what is about to be handed over; nil if the request is rejected.
    /// - Returns: what is to be done; nil if nobody observes the request.
    private func decision(_ index: Int, _ submission: Submission?, _ rejection: Rejection?) -> RequestDecision? {
        guard let watched = requests[index].watched, let watch = gateway.watch else { return nil }
        guard let id = requests[index].id.present else { return nil }
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
    /// Whether a request is refused for its device token alone, and for want of a key that may be there.
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

    /// The keys have been asked for: those who waited for that are decided, and what came after them, up to the next one
    /// that has to be asked for.
    /// - Parameter isAnswered: false where the store could not be asked. Then it is not certain that a token is bad.
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

/// The one way in from other threads. `@unchecked` because everything else is confined to the event loop, which the
/// class cannot show to the compiler; ``late`` alone is shared, behind its lock.
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

    /// - Parameter add: adds at least one to those that wait for the event loop.
    private func answerLater(_ add: (inout [SubmissionAnswer]) -> Void) {
        let isFirst = late.withLock { late in
            defer { add(&late) }
            return late.isEmpty
        }
        if isFirst { eventLoop.execute { self.answerLate() } }
    }
}
