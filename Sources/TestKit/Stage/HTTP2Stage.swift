package import HTTP2
import Matching
package import NIOCore
import Notifications

/// Stands between a session and a connection of a provider API. It passes everything on, shows the requests to the observer,
/// and does to them and to the connection what rehearsals want. Confined to the connection's event loop.
package final class HTTP2Stage: HTTP2Connection {
    struct Setting {
        let observation: RequestObservation
        let environment: Environment
        let interface: ProviderInterface
        let silence: TimeAmount
        /// The largest body that the session passes on, in bytes; nil if it passes all on.
        let bodyLimit: Int?
        /// The team of the connection's certificate; nil if it has none.
        let team: () -> TeamID?
        /// The connection's number in the journal.
        let number: UInt64
        /// The server name in the TLS handshake, if that was observed.
        let serverName: String?
        let eventLoop: any EventLoop
    }

    let setting: Setting
    let performer: any StagePerformer & HTTP2Connection
    private(set) var session: HTTP2Session?
    private var scenes = StreamTable<Scene>()
    private var openStreams = 0
    /// The faults of rehearsals on this connection; nil until there is one.
    var faults: ConnectionFaults?
    private var practice = ConnectionPractice()
    private var hasPriorityFrames = false
    /// The newest request that was observed before the connection was ending: its number in the journal. And the team of the
    /// newest one.
    private var newestObserved: (number: UInt64, team: TeamID?) = (0, nil)
    /// The accepted requests that the API hands over at the end of this batch.
    private var batch: [Scene] = []
    /// Whether bytes are being read, so that what is accepted now is handed over at their end.
    private var isReading = false
    /// The time of the last tick.
    private(set) var second = NIODeadline.now()

    init(_ performer: any StagePerformer & HTTP2Connection, _ setting: Setting) {
        self.performer = performer
        self.setting = setting
    }

    private var isObserving: Bool { setting.observation.isActive }

    // MARK: Requests

    package func fieldsReceived(_ stream: StreamID, _ fields: FieldList, endStream: Bool) {
        begin(stream, fields)
        performer.fieldsReceived(stream, fields, endStream: endStream)
        performer.scene = nil
    }

    package func fieldsTooLarge(_ stream: StreamID, _ fields: FieldList) -> Bool {
        begin(stream, fields)
        defer { performer.scene = nil }
        return performer.fieldsTooLarge(stream, fields)
    }

    /// Makes the scene of a request, if somebody observes.
    private func begin(_ stream: StreamID, _ fields: FieldList) {
        isReading = true
        // What a rehearsal still has to do on the connection counts all requests.
        let isSeen = isObserving || faults != nil
        let practices = practice.requestBegan(
            isIdle: openStreams == 0, isObserved: isSeen, silence: setting.silence, at: .now())
        openStreams += 1
        guard isSeen else { return }
        let scene = Scene(stream, fields, on: self, practices)
        scenes.append(stream, scene)
        performer.scene = scene
    }

    package func malformedRequest(_ stream: StreamID, error: HTTP2ErrorCode, rule: String) {
        _ = practice.requestBegan(isIdle: openStreams == 0, isObserved: false, silence: setting.silence, at: .now())
        performer.malformedRequest(stream, error: error, rule: rule)
    }

    package func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        isReading = true
        if !scenes.isEmpty { scenes[stream]?.append(bytes) }
        performer.dataReceived(stream, bytes: bytes)
    }

    package func bodyTooLarge(_ stream: StreamID) -> Bool {
        // The session does not pass on the part with which the body exceeds the limit.
        if let limit = setting.bodyLimit { scenes[stream]?.received = limit + 1 }
        return performer.bodyTooLarge(stream)
    }

    package func streamEnded(_ stream: StreamID) {
        isReading = true
        performer.streamEnded(stream)
    }

    package func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) {
        openStreams -= 1
        if let reason = faults?.forget(stream) { sayGoodbye(reason) }
        performer.streamClosed(stream, error: error)
        guard !scenes.isEmpty, let scene = scenes.remove(stream) else { return }
        scene.isClosed = true
        guard !scene.isAnswered, let number = scene.number else { return }
        // If a rehearsal has closed the connection, what came with its request is never delivered here.
        let isDiscarded = session?.isActive != true && batch.contains { $0 === scene }
        setting.observation.observer.unanswered(number, isDiscarded: isDiscarded)
    }

    package func writable(_ stream: StreamID) { performer.writable(stream) }

    package func batchEnded() {
        isReading = false
        performer.batchEnded()
        batch.removeAll(keepingCapacity: true)
    }

    // MARK: The connection

    package func sessionBecameActive(_ session: HTTP2Session) {
        self.session = session
        performer.sessionBecameActive(session)
    }

    package func settingsReceived(_ settings: PeerSettings) {
        practice.settingsReceived(settings)
        performer.settingsReceived(settings)
    }

    package func windowUpdateReceived() {
        practice.windowUpdateReceived()
        performer.windowUpdateReceived()
    }

    package func pingReceived() {
        practice.pingReceived(at: .now())
        performer.pingReceived()
    }

    package func priorityReceived(_ stream: StreamID) {
        hasPriorityFrames = true
        performer.priorityReceived(stream)
    }

    package func pingAcknowledged(_ payload: UInt64) { performer.pingAcknowledged(payload) }

    package func goAwayReceived(lastStream: StreamID, error: HTTP2ErrorCode, debugData: Span<UInt8>) {
        performer.goAwayReceived(lastStream: lastStream, error: error, debugData: debugData)
    }

    package func sessionClosed(_ end: SessionEnd) {
        if let session { observe(session.unprocessedStreams) }
        session = nil
        performer.sessionClosed(end)
        // If the service ended the connection for another reason, this says nothing about the client.
        if practice.requests == 0, performer.goneAway == nil || performer.goneAway == .idleTimeout { observeUnused() }
    }

    package func tick(now: NIODeadline) {
        second = now
        performer.tick(now: now)
        if faults != nil { endHanging(now) }
    }

    package var isSuspect: Bool { performer.isSuspect }
    package var hasShownTrust: Bool { performer.hasShownTrust }

    package func drain() {
        endHanging(nil)
        performer.drain()
    }

    package func abandon() { performer.abandon() }

    // MARK: What the observer sees

    /// Shows a request to the observer after the API's decision.
    /// - Returns: the fault that a rehearsal causes; nil if it causes none.
    func show(_ facts: RequestFacts, of scene: Scene) -> RequestFault? {
        var facts = facts
        facts.connection = setting.number
        facts.serverName = setting.serverName
        if hasPriorityFrames { scene.practices.insert(.priorityFrames) }
        scene.complete(&facts)
        let decision = setting.observation.observer.decided(facts)
        scene.number = decision.number
        // From the GOAWAY on, other connections have what the client sends again, with greater numbers.
        let isEnding = session?.isDraining ?? true
        newestObserved = (isEnding ? newestObserved.number : decision.number, facts.team ?? newestObserved.team)
        guard case .misbehave(_, let fault) = decision else { return nil }
        return fault
    }

    /// Takes note of a request about which the API does what it has decided.
    func carriedOut(_ facts: RequestFacts, of scene: Scene) {
        // Broadcasts and what goes to an upstream are handed over even if the connection is closed at once.
        guard isReading, facts.interface == .http2, facts.channel == nil, !facts.isForwarded, facts.reason == nil else {
            return
        }
        batch.append(scene)
    }

    /// Reports an answer before it is written.
    func report(_ answer: RequestAnswer, of scene: Scene) {
        guard let number = scene.number else { return }
        let observer = setting.observation.observer
        if let channel = answer.channel { observer.created(number, channel: channel) }
        if let own = answer.own { observer.compared(number, own: own) }
        if answer.isCaptured { observer.captured(number) }
        observer.answered(number, answer)
    }

    private func observeUnused() {
        guard setting.interface == .http2, isObserving else { return }
        setting.observation.observer.connectionUnused(
            UnusedConnection(
                number: setting.number, environment: setting.environment, interface: .http2, team: setting.team()))
    }

    /// Reports the requests that came when the connection was ending.
    private func observe(_ streams: UnprocessedStreams) {
        guard streams.count > 0, isObserving else { return }
        let fingerprints = streams.requests.compactMap { request -> Int? in
            guard request.isComplete, let path = request.path.map({ String(decoding: $0, as: UTF8.self) }),
                let token = Scene.token(inPath: path)
            else { return nil }
            return UnprocessedRequests.fingerprint(token: token, body: request.body)
        }
        setting.observation.observer.unprocessed(
            UnprocessedRequests(
                connection: setting.number, environment: setting.environment, team: newestObserved.team,
                after: newestObserved.number, fingerprints: fingerprints,
                unknown: max(0, streams.count - fingerprints.count)))
    }
}
