import CoreMetrics
import HTTP2
import Logging
import NIOCore

/// Carries out the decisions of `ConnectionPlan`, `RequestQueue` and `ProviderTokenSchedule`: gives requests to connections,
/// gives answers to callers, and opens and closes connections. It is confined to one event loop, which all connections of a
/// client share, so it needs no lock.
final class RequestDispatcher {
    struct Settings: Sendable {
        var environment: APNSEnvironment
        var limits: ConnectionPlan.Limits
        var keepAlive: KeepAlive.Times
        var maximumWaiting: Int
        var lookUp: HostLookup
        /// Seconds since 1970.
        var clock: @Sendable () -> UInt64
        var openTimeout = ConnectionOpener.timeout
        /// Called when the number of connections has changed, with the difference.
        var connectionsChanged: @Sendable (Int) -> Void = { _ in }
        /// Called with the reason why requests have to wait, and with nil when the service has accepted one.
        var troubleChanged: @Sendable (ProviderError?) -> Void = { _ in }
        /// The time for requests under way when the credentials are replaced or the client shuts down.
        var grace = TimeAmount.seconds(10)
    }

    /// The state of the provider token.
    enum TokenState {
        /// The credentials are a certificate, so no token is needed.
        case notNeeded
        case missing
        /// The store was asked for a token. Requests wait for it.
        case requested
        case known(StoredProviderToken, isBeingRenewed: Bool)
    }

    let loop: any EventLoop
    let settings: Settings
    let logger: Logger
    let metrics: ProviderMetrics
    var plan: ConnectionPlan
    var connections: [ServerConnection] = [] {
        didSet {
            let difference = connections.count - oldValue.count
            if difference != 0 { settings.connectionsChanged(difference) }
        }
    }
    var addresses: [ConnectionPlan.ID: SocketAddress] = [:]
    var opener: ConnectionOpener
    var keeper: ProviderTokenKeeper?
    var tokenState: TokenState
    /// The earliest time for the next renewal after a failed one.
    var renewNotBefore = NIODeadline.uptimeNanoseconds(0)
    /// Increases when the credentials are replaced, so that an earlier answer of the keeper is ignored.
    var tokenEpoch = 0

    /// The requests that no connection has.
    var queue: RequestQueue
    /// The reason why the last attempt to connect failed.
    var connectTrouble: ProviderError?
    var connectTroubleBegan = NIODeadline.uptimeNanoseconds(0)
    var replacement: Replacement?
    var whenShutDown: [EventLoopPromise<Void>] = []
    /// Callers of `connect` that wait for an open connection.
    var whenOpen: [(deadline: NIODeadline, promise: EventLoopPromise<Void>)] = []

    /// Whether requests had to wait since the service has last accepted one.
    private var hasTrouble = false
    private var readers: [any AnswerReader] = []
    private var timer: Scheduled<Void>?
    private var isDispatching = false
    private var generator = SystemRandomNumberGenerator()

    init(
        loop: any EventLoop,
        settings: Settings,
        opener: ConnectionOpener,
        keeper: ProviderTokenKeeper?,
        logger: Logger,
        metrics: ProviderMetrics,
    ) {
        self.loop = loop
        self.settings = settings
        self.opener = opener
        self.keeper = keeper
        self.logger = logger
        self.metrics = metrics
        queue = RequestQueue(maximumCount: settings.maximumWaiting)
        tokenState = keeper == nil ? .notNeeded : .missing
        plan = ConnectionPlan(usesTokens: keeper != nil || opener.passesTokens, limits: settings.limits)
    }

    var random: Double { Double.random(in: 0...1, using: &generator) }

    // MARK: In

    /// Takes requests from callers.
    func enqueue(_ tickets: [Ticket]) {
        for ticket in tickets {
            switch queue.add(ticket) {
            case .wait: continue
            case .waitInPlaceOf(let ending), .finish(let ending): finish(ending)
            }
        }
        dispatch()
        failThoseThatDoNotWait()
        wakeReaders()
        scheduleTick(at: .now() + RequestQueue.tickInterval)
    }

    /// Fails the requests whose call was cancelled.
    func giveUpCancelled() {
        finish(queue.callsCancelled())
        for connection in connections {
            connection.giveUpCancelled()
        }
        wakeReaders()
    }

    /// Fails the requests of these shares that wait for a connection, or for their next attempt.
    func giveUpWaiting(of shares: Set<String>) {
        finish(queue.gaveUp(shares))
        wakeReaders()
    }

    // MARK: Out

    /// Hands waiting requests to connections with a free stream.
    func dispatch() {
        guard !isDispatching, queue.needsConnection else { return }
        isDispatching = true
        defer { isDispatching = false }
        guard let authorization = authorization() else { return }
        let now = NIODeadline.now()
        for connection in connections { connection.checkIfSilent(at: now) }
        while queue.needsConnection, let id = plan.assignRequest(at: now) {
            guard let job = queue.next() else { return plan.ended(on: id) }
            guard let connection = connections.first(where: { $0.id == id }) else {
                queue.putBack(job)
                plan.ended(on: id)
                plan.leave(id)
                continue
            }
            if let unsent = connection.send(job, authorization: authorization.value) {
                queue.putBack(unsent)
                plan.ended(on: id)
                plan.leave(id)
                // If it has used up its stream numbers, it closes after the last answer.
                connection.leave()
            }
        }
        for connection in connections { connection.flush() }
        openMore()
    }

    struct Authorization { let value: String? }

    /// The value of the `authorization` header; nil if there is no usable provider token yet.
    private func authorization() -> Authorization? {
        switch tokenState {
        case .notNeeded:
            return Authorization(value: nil)
        case .missing:
            askForToken(insteadOf: nil)
            // Open the connection while the token is being made.
            openMore()
            return nil
        case .requested:
            openMore()
            return nil
        case .known(let token, let isBeingRenewed):
            let now = keeper?.clock() ?? 0
            let isGood = ProviderTokenSchedule.isGood(token, at: now)
            if !isBeingRenewed, ProviderTokenSchedule.isDue(token, at: now), !isGood || .now() >= renewNotBefore {
                askForToken(insteadOf: nil)
            }
            return isGood ? Authorization(value: "bearer " + token.token) : nil
        }
    }

    /// Opens another connection if requests or callers of `connect` wait for one.
    func openMore() {
        guard queue.needsConnection || !whenOpen.isEmpty else { return }
        switch plan.open(at: .now()) {
        case .open(let id): open(id)
        case .later(let due): scheduleTick(at: due)
        case .none: return
        }
    }

    // MARK: Endings

    /// Handles an answer, or a response that is not from a push service.
    func ended(_ job: Job, _ answer: Ticket.Answer) {
        guard case .success(let success) = answer, !success.isSuccess else {
            if hasTrouble, case .success = answer { reportTrouble(nil) }
            return finish(job, answer)
        }
        let error = success.error
        switch queue.rejected(job, success, error, at: .now(), random: random) {
        case .finish(let answer):
            finish(job, answer)
        case .wait(let due):
            willRetry(after: error)
            scheduleTick(at: due)
        case .renewToken(let rejected):
            willRetry(after: error)
            renewToken(rejected)
        }
    }

    /// Handles a request that the service did not process.
    /// - Parameter isByGoAway: whether the service said so with GOAWAY. Otherwise it has refused the stream.
    func refused(_ job: Job, isByGoAway: Bool, _ error: ProviderError) {
        switch queue.refused(job, isByGoAway: isByGoAway, error, at: .now(), random: random) {
        case .finish(let answer):
            finish(job, answer)
        case .sendElsewhere:
            metrics.retried.increment()
        case .wait(let due):
            willRetry(after: error)
            scheduleTick(at: due)
        }
    }

    private func willRetry(after error: ProviderError) {
        metrics.retried.increment()
        reportTrouble(error)
    }

    /// Reports why requests have to wait.
    /// - Parameter trouble: nil if they do not have to wait any more.
    private func reportTrouble(_ trouble: ProviderError?) {
        hasTrouble = trouble != nil
        settings.troubleChanged(trouble)
    }

    /// Closes everything, because the client was released.
    func abandon() {
        for connection in connections { connection.close() }
        finish(queue.abandon())
        wakeReaders()
    }

    /// Hands the answer to the caller.
    func finish(_ job: Job, _ answer: Ticket.Answer) {
        metrics.count(answer)
        if let reader = job.ticket.complete(answer) { readers.append(reader) }
    }

    func finish(_ endings: [RequestQueue.Ending]) { for ending in endings { finish(ending) } }

    func finish(_ ending: RequestQueue.Ending) { finish(ending.job, ending.answer) }

    func wakeReaders() {
        guard !readers.isEmpty else { return }
        let woken = readers
        readers = []
        for reader in woken { reader.wake() }
    }

    func requestEnded(on id: ConnectionPlan.ID) { plan.ended(on: id) }

    func answered(on id: ConnectionPlan.ID, _ verdict: TokenVerdict) {
        plan.answered(on: id, verdict)
        // The connection belongs to the old key, so it closes after the last answer.
        if verdict == .unrelated { connections.first { $0.id == id }?.leave() }
    }

    /// Handles the end of a batch of frames that arrived together.
    func batchEnded() {
        dispatch()
        wakeReaders()
        endIfDone()
    }

    // MARK: Time

    /// Makes sure that `tick()` runs at this time or earlier.
    func scheduleTick(at due: NIODeadline) { setTimer(queue.lookAgain(by: due)) }

    private func setTimer(_ action: RequestQueue.TimerAction) {
        switch action {
        case .keep: return
        case .set(let due):
            timer?.cancel()
            timer = loop.assumeIsolated().scheduleTask(deadline: due) { [weak self] in self?.tick() }
        }
    }

    private func tick() {
        let now = NIODeadline.now()
        let action = queue.tick(at: now, waitingFor: waitingTrouble)
        endWaits(at: now)
        finish(action.endings)
        closeOverdue(at: now, all: action.closesConnections)
        endIfDone()
        var next = NIODeadline.distantFuture
        for connection in connections { next = min(next, connection.tick(at: now)) }
        dispatch()
        if !whenOpen.isEmpty { openMore() }
        failThoseThatDoNotWait()
        wakeReaders()
        let isBusy =
            !whenOpen.isEmpty || replacement != nil || !whenShutDown.isEmpty || connections.contains { $0.inFlight > 0 }
        setTimer(queue.lookAgain(after: now, connections: next, isBusy: isBusy))
    }

    /// What requests wait for that have no reason of their own.
    private var waitingTrouble: ProviderError {
        if !plan.hasOpen, let connectTrouble { return connectTrouble }
        let cause =
            plan.allowsNoStreams ? "The service allows no streams." : "No connection took the notification in time."
        return ProviderError(.deadlineExceeded, cause)
    }
}
