import Connections
import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications
import Trust

/// One provider's connection for the management of channels. Confined to its event loop.
final class ChannelConnection: AuthenticatingConnection {
    let api: ChannelAPI
    let eventLoop: any EventLoop
    let certificate: ProviderIdentity?
    let peer: String
    private(set) var session: HTTP2Session?
    var requests = StreamTable<ChannelManagementRequest>()
    private var response: ProviderResponse
    var memory: ProviderMemory
    /// Makes what the service does not know; nil if the client may not use it.
    private let firstSight: (any FirstSight)?
    var identifiers: IdentifierGenerator
    var scene: (any RequestScene)?
    /// The number of open requests is the same for all providers.
    var fixedStreams: Int?
    var trust: ConnectionTrust
    /// The memory of the open requests that counts as untrusted in the provider API, in KiB.
    var untrusted = 0
    var held = HeldBytes()
    let accepted: AcceptedConnection
    var goneAway: Rejection.Reason?
    private(set) var second = NIODeadline.now()
    /// A request that begins is a use, and so is a PING.
    private var idle = IdleTime()

    var provider: ProviderAPI { api.provider }

    init(api: ChannelAPI, certificate: ProviderIdentity?, accepted: AcceptedConnection) {
        self.api = api
        self.certificate = certificate
        self.accepted = accepted
        firstSight = api.provider.firstSight(for: accepted)
        memory = ProviderMemory(firstSight: firstSight)
        trust = ConnectionTrust(hasCertificate: certificate != nil)
        eventLoop = accepted.channel.eventLoop
        peer = accepted.peer
        response = ProviderResponse(
            environment: api.provider.environment, hasDetail: api.provider.answersHaveDetail)
        var system = SystemRandomNumberGenerator()
        identifiers = IdentifierGenerator(seededBy: &system)
    }

    func sessionBecameActive(_ session: HTTP2Session) {
        self.session = session
        beginUntrusted(session)
    }

    func fieldsReceived(_ stream: StreamID, _ fields: FieldList, endStream: Bool) {
        headersBegan(stream)
        fields.forEach { name, value, _ in headerReceived(stream, name: name, value: value) }
        headersEnded(stream)
    }

    func malformedRequest(_ stream: StreamID, error: HTTP2ErrorCode, rule: String) {
        headersBegan(stream)
        streamClosed(stream, error: error)
    }

    private func headersBegan(_ stream: StreamID) {
        idle.noteUse()
        guard admitUntrusted(weight: ProviderLimits.untrustedChannelWeight) else {
            return session?.reset(stream, .refusedStream) ?? ()
        }
        var request = ChannelManagementRequest(began: second)
        request.scene = scene
        requests.append(stream, request)
    }

    private func headerReceived(_ stream: StreamID, name: Span<UInt8>, value: Span<UInt8>) {
        guard let index = requests.index(of: stream) else { return }
        guard let header = RequestHeader(name: name) else { return }
        requests[index].recordHeader(header)
        switch header {
        case .method: requests[index].method = value.text
        case .path: requests[index].path = value.text
        case .authorization where certificate == nil: requests[index].sender = memory.sender(value, api: provider)
        case .channelID: requests[index].channel = BroadcastPush.channel(value)
        case .requestID: requests[index].id = BroadcastPush.requestID(value)
        default: break
        }
    }

    private func headersEnded(_ stream: StreamID) {
        guard let index = requests.index(of: stream) else { return }
        if let certificate {
            do throws(Rejection) {
                try memory.check(certificate, api: provider)
                requests[index].sender = .certificate(certificate)
            } catch {
                requests[index].sender = .rejected(error)
            }
        }
        if !memory.isCurrent(provider) { requests[index].sender = .undecided }
        requests[index].accountsVersion = memory.version(provider)
        judge(requests[index].sender, hasShape: requests[index].hasShape)
    }

    func fieldsTooLarge(_ stream: StreamID, _ fields: FieldList) -> Bool {
        headersBegan(stream)
        fields.forEach { name, value, _ in headerReceived(stream, name: name, value: value) }
        reject(stream, Rejection(.payloadTooLarge, detail: "The headers are too long."))
        return true
    }

    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        guard let index = requests.index(of: stream), !requests[index].isAnswered else { return }
        // A request without trust is rejected before anybody looks at its body.
        guard requests[index].mayHaveTrust else { return }
        requests[index].body.append(bytes)
    }

    func bodyTooLarge(_ stream: StreamID) -> Bool {
        let detail = "The body is longer than \(api.limits.bodyBytes) bytes."
        reject(stream, Rejection(.payloadTooLarge, detail: detail))
        return true
    }

    func streamEnded(_ stream: StreamID) {
        guard let index = requests.index(of: stream) else { return }
        requests[index].hasEnded = true
        guard !requests[index].isAnswered else { return }
        if let (app, team) = unknownApp(of: requests[index]) { return makeApp(app, of: team, for: stream) }
        do throws(Rejection) {
            let work = try work(of: requests[index])
            requests[index].isUnderWay = true
            if isToCarryOut(stream, nil) { run(work, on: stream) }
        } catch {
            reject(stream, error)
        }
    }

    func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) {
        if requests.remove(stream) != nil { releaseUntrusted(ProviderLimits.untrustedChannelWeight) }
    }

    func batchEnded() {
        memory.endBatch()
        limitHeldBytes()
    }

    func pingReceived() { idle.noteUse() }

    func sessionClosed(_ end: SessionEnd) {
        session = nil
        releaseUntrusted(untrusted)
    }

    func tick(now: NIODeadline) {
        second = now
        let timeout = provider.limits.requestTimeout
        for stream in requests.streams(where: { $0.overdue(after: timeout, now: now) != nil }) {
            guard let index = requests.index(of: stream) else { continue }
            switch requests[index].overdue(after: timeout, now: now) {
            case .stuck where !requests[index].isUnderWay || requests[index].isAnswered:
                return session?.close() ?? ()
            case .answered:
                session?.reset(stream, .noError)
            case .unanswered where !requests[index].isUnderWay:
                provider.limitLog.limitExceeded(.requestTimeout, peer: peer)
                reject(stream, Rejection(.idleTimeout, detail: "The request did not end in time."))
            case .stuck, .unanswered, nil:
                break
            }
        }
        if session?.closeIfFieldsAreOverdue(after: timeout, now: now) == true {
            return provider.limitLog.limitExceeded(.requestTimeout, peer: peer)
        }
        limitHeldBytes()
        if requests.isEmpty, idle.exceeds(provider.limits.idleTimeout, at: now) { goAway(.idleTimeout) }
        checkCertificate()
    }

    func trustChanged() {
        if trust.isShown { showedTrust() }
    }

    var unhandledRequests: [StreamID] { requests.streams(where: { !$0.isAnswered && !$0.isUnderWay }) }
}

// The checks, in the order that docs/channels.md documents, and the answers.
extension ChannelConnection {
    /// Makes the checks that need no store.
    /// - Returns: what answers the request.
    private func work(of request: ChannelManagementRequest) throws(Rejection) -> Work {
        let (action, bundleID) = try request.action()
        if let header = request.repeated {
            throw Rejection(.duplicateHeaders, detail: "The request has \(header.name) more than once.")
        }
        try checkTrust(request)
        if case .bad(let detail) = request.id { throw Rejection(.badMessageID, detail: detail) }
        let app = try provider.rules.app(bundleID, of: request.sender, in: memory.current(provider))
        let list = ChannelList(environment: provider.environment, app: app.id)
        let broadcasts = provider.broadcasts
        switch action {
        case .create:
            let policy = try ChannelManagementRequest.policy(request.body)
            return { () async throws(Rejection) in
                let channel = try await broadcasts.create(policy, in: list)
                return Answer(status: 201, channel: channel.key.id)
            }
        case .read:
            let key = ChannelKey(list: list, id: try RequestRules.channel(request.channel))
            return { () async throws(Rejection) in
                let channel = try await broadcasts.channel(key)
                return Answer(status: 200, body: "{\(Self.contents(of: channel))}")
            }
        case .remove:
            let key = ChannelKey(list: list, id: try RequestRules.channel(request.channel))
            return { () async throws(Rejection) in
                try await broadcasts.remove(key)
                return Answer(status: 204)
            }
        case .list:
            return { () async throws(Rejection) in
                let channels = try await broadcasts.channels(of: list)
                // Identifiers need no escaping in JSON, because of the characters that they consist of.
                let names = channels.map { #""\#($0.key.id)""# }.joined(separator: ",")
                return Answer(status: 200, body: #"{"channels":[\#(names)]}"#)
            }
        }
    }

    /// The app of a request that nobody has created, and the team for which it is made (`carillon serve --accept any`).
    private func unknownApp(of request: ChannelManagementRequest) -> (BundleID, TeamID)? {
        guard let firstSight, !request.hasWaited, let team = request.sender.team,
            let bundleID = (try? request.action())?.bundleID,
            memory.current(provider).apps[bundleID].map({ $0.team != team && firstSight.isFree($0.id) }) ?? true
        else { return nil }
        switch request.sender {
        // A key that is restricted to some apps is for no other one.
        case .token(let token) where token.bundleIDs != nil || token.grant != nil: return nil
        case .certificate(let certificate) where certificate.uid != bundleID.rawValue: return nil
        default: return (bundleID, team)
        }
    }

    /// Makes an app, and then handles the request that waits for it.
    private func makeApp(_ bundleID: BundleID, of team: TeamID, for stream: StreamID) {
        guard let index = requests.index(of: stream) else { return }
        requests[index].hasWaited = true
        requests[index].isUnderWay = true
        let (firstSight, connection) = (firstSight, NIOLoopBound(self, eventLoop: eventLoop))
        Task {
            await firstSight?.makeApp(of: bundleID.rawValue, team: team)
            connection.eventLoop.execute { connection.value.goOn(stream) }
        }
    }

    private func goOn(_ stream: StreamID) {
        memory.endBatch()
        if let index = requests.index(of: stream) { requests[index].isUnderWay = false }
        streamEnded(stream)
        memory.endBatch()
    }

    private func checkTrust(_ request: ChannelManagementRequest) throws(Rejection) {
        // The certificate or the key may have been revoked since the request's headers.
        if let certificate { try memory.check(certificate, api: provider) }
        if case .token(let token) = request.sender, memory.version(provider) != request.accountsVersion {
            try token.checkKey(in: memory.current(provider))
        }
        try request.sender.check()
    }

    private static func contents(of channel: BroadcastChannel) -> String {
        #""message-storage-policy":\#(channel.policy.rawValue),"push-type":"LiveActivity""#
    }

    typealias Work = @Sendable () async throws(Rejection) -> Answer

    struct Answer: Sendable {
        var status: Int
        var channel: ChannelID?
        var body: String?
    }

    /// Runs work that takes time, and answers on the event loop.
    func run(_ work: @escaping Work, on stream: StreamID) {
        let connection = NIOLoopBound(self, eventLoop: eventLoop)
        Task {
            let result: Result<Answer, Rejection>
            do throws(Rejection) {
                result = .success(try await work())
            } catch {
                result = .failure(error)
            }
            connection.eventLoop.execute { connection.value.respond(stream, result) }
        }
    }

    private func respond(_ stream: StreamID, _ result: Result<Answer, Rejection>) {
        switch result {
        case .failure(let rejection):
            recordRejection(stream, rejection)
            refuse(stream, rejection)
            // The fault is the service's own. Another connection may reach a service without the fault.
            if rejection.reason == .internalServerError { goAway(.internalServerError) }
        case .success(let answer):
            guard let index = requests.index(of: stream), !requests[index].isAnswered else { return }
            if let scene = requests[index].scene {
                var told = RequestAnswer(status: answer.status)
                told.channel = answer.channel
                guard scene.mayAnswer(told, later: { [self] in respond(stream, result) }) else { return }
            }
            requests[index].isAnswered = true
            let id = requests[index].identify(using: &identifiers)
            let headers = response.ofChannels(
                answer.status, id, channel: answer.channel, hasBody: answer.body != nil)
            session?.respond(stream, headers, body: answer.body.map { ByteBuffer(string: $0) })
        }
    }

    /// Asks the scene of a request what to do, now that the connection has decided about it.
    /// - Parameter rejection: nil if the request is handed over.
    /// - Returns: whether to carry the decision out.
    private func isToCarryOut(_ stream: StreamID, _ rejection: Rejection?) -> Bool {
        guard let index = requests.index(of: stream), let scene = requests[index].scene else { return true }
        let request = requests[index]
        let accounts = memory.current(provider)
        let bundleID = try? request.action().bundleID
        let (team, sender) = request.sender.shown(in: accounts)
        var facts = RequestFacts(
            time: provider.clock.time,
            connection: 0,
            environment: provider.environment,
            interface: .channels,
            team: team ?? bundleID.flatMap { accounts.apps[$0]?.team },
            sender: sender,
            topic: bundleID?.topic(.liveActivity),
            apnsID: requests[index].identify(using: &identifiers),
            channel: request.channel.present?.rawValue,
            body: request.body,
            status: rejection?.reason.status ?? 200,
            reason: rejection?.reason.rawValue,
        )
        if !request.sender.isVerified { facts.unknown.insert(.sender) }
        let isCarriedOut = scene.performance(of: facts).times > 0
        if !isCarriedOut, let index = requests.index(of: stream) { requests[index].isUnderWay = true }
        return isCarriedOut
    }

    /// Rejects a request that was not handed over.
    func reject(_ stream: StreamID, _ rejection: Rejection) {
        guard let index = requests.index(of: stream), !requests[index].isAnswered,
            isToCarryOut(stream, rejection)
        else { return }
        recordRejection(stream, rejection)
        refuse(stream, rejection)
    }

    func answer(_ ticket: UInt64, with rejection: Rejection?, retryAfter: Int?) {
        // What a request about channels asks for cannot be pretended.
        guard var rejection else { return }
        // A 410 always has a timestamp (Guide, Table 8-5).
        if rejection.reason.status == 410, rejection.timestamp == nil {
            rejection.timestamp = provider.clock.machineTime.milliseconds
        }
        refuse(StreamID(ticket: ticket), rejection, retryAfter: retryAfter)
    }

    /// Records a rejection in the delivery log, and so in the metrics. A service in production has no journal, so
    /// nothing else shows that a channel could not be created.
    private func recordRejection(_ stream: StreamID, _ rejection: Rejection) {
        guard let index = requests.index(of: stream), !requests[index].isAnswered else { return }
        let topic = (try? requests[index].action())?.bundleID?.topic(.liveActivity) ?? ""
        let subject = NotificationSubject(
            id: requests[index].identify(using: &identifiers), address: .unknown, topic: topic)
        provider.deliveryLog.record(
            DeliveryEvent(time: provider.clock.time, step: .rejected(rejection.reason), subject: subject))
    }

    /// - Parameter retryAfter: in seconds; nil for an answer without that header.
    private func refuse(_ stream: StreamID, _ rejection: Rejection, retryAfter: Int? = nil) {
        guard let index = requests.index(of: stream), !requests[index].isAnswered else { return }
        requests[index].isUnderWay = true
        requests[index].body = []
        if let scene = requests[index].scene {
            let mayAnswer = scene.mayAnswer(RequestAnswer(rejection)) { [self] in
                refuse(stream, rejection, retryAfter: retryAfter)
            }
            guard mayAnswer else { return }
        }
        requests[index].isAnswered = true
        if !requests[index].hasEnded { requests[index].cutShort = second }
        let id = requests[index].identify(using: &identifiers)
        let (headers, body) = response.rejected(rejection, id, isBroadcast: true, retryAfter: retryAfter)
        session?.respond(stream, headers, body: requests[index].isHead ? nil : body)
    }
}
