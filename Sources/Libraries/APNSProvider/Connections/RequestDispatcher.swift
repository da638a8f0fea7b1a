import CoreMetrics
import HTTP2
import Logging
import NIOCore

/// Carries out the decisions of `ConnectionPlan`, `RetryDecision` and `ProviderTokenSchedule`. It gives requests to
/// connections, keeps those that wait, and opens and closes connections. It is confined to one event loop, which all
/// connections of a client share, so it needs no lock.
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
        /// The store was asked for a token, and requests wait for it.
        case asked
        case known(StoredProviderToken, isBeingRenewed: Bool)
    }

    /// The interval at which deadlines are checked while something is under way.
    static let tickInterval = TimeAmount.milliseconds(50)

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

    /// Requests that are sent as soon as a connection accepts them.
    var waiting = FairQueue<Job>()
    /// Requests that are sent again at a later time.
    var delayed: [Job] = []
    /// The reason why the last attempt to connect failed.
    var connectTrouble: ProviderError?
    var connectTroubleBegan = NIODeadline.uptimeNanoseconds(0)
    var replacement: Replacement?
    var isShuttingDown = false
    var shutDownDeadline = NIODeadline.distantFuture
    var whenShutDown: [EventLoopPromise<Void>] = []
    /// Callers of `connect` that wait for an open connection.
    var whenOpen: [(deadline: NIODeadline, promise: EventLoopPromise<Void>)] = []

    /// Whether requests had to wait since the service has last accepted one.
    private var hasTrouble = false
    private var readers: [any AnswerReader] = []
    private var timer: Scheduled<Void>?
    private var timerDue = NIODeadline.distantFuture
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
        tokenState = keeper == nil ? .notNeeded : .missing
        plan = ConnectionPlan(usesTokens: keeper != nil || opener.passesTokens, limits: settings.limits)
    }

    var random: Double { Double.random(in: 0...1, using: &generator) }

    // MARK: In

    /// Takes requests from callers.
    func enqueue(_ tickets: [Ticket]) {
        for ticket in tickets {
            if ticket.cancellation.isCancelled {
                finish(Job(ticket), .failure(ProviderError(.cancelled, "The task was cancelled.")))
            } else if isShuttingDown {
                finish(Job(ticket), .failure(ProviderError(.shutDown, "The client was shut down.")))
            } else if waiting.count + delayed.count >= settings.maximumWaiting {
                let overloaded = ProviderError(
                    .overloaded, "\(settings.maximumWaiting) notifications are already waiting.")
                if let other = waiting.makeRoom(for: ticket.share) {
                    wait(Job(ticket))
                    finish(other, .failure(overloaded))
                } else {
                    finish(Job(ticket), .failure(overloaded))
                }
            } else {
                wait(Job(ticket))
            }
        }
        dispatch()
        failThoseThatDoNotWait()
        wakeReaders()
        scheduleTick(at: .now() + Self.tickInterval)
    }

    /// Adds a request to those that wait.
    func wait(_ job: Job) { waiting.append(job, share: job.ticket.share) }

    /// Puts a request back that was taken. It is the next one.
    func putBack(_ job: Job) { waiting.prepend(job, share: job.ticket.share) }

    /// Fails the requests whose call was cancelled.
    func giveUpCancelled() {
        let isCancelled = { (job: Job) in job.ticket.cancellation.isCancelled }
        let given = waiting.remove(where: isCancelled) + delayed.filter(isCancelled)
        if !given.isEmpty { delayed.removeAll(where: isCancelled) }
        for job in given { finish(job, .failure(ProviderError(.cancelled, "The task was cancelled."))) }
        for connection in connections {
            connection.giveUpCancelled()
        }
        wakeReaders()
    }

    /// Fails the requests of these shares that wait for a connection, or for their next attempt.
    func giveUpWaiting(of shares: Set<String>) {
        let isEnded = { (job: Job) in job.ticket.share.map(shares.contains) ?? false }
        let given = waiting.remove(where: isEnded) + delayed.filter(isEnded)
        delayed.removeAll(where: isEnded)
        for job in given { finish(job, .failure(ProviderError(.cancelled, "The request was given up."))) }
        wakeReaders()
    }

    // MARK: Out

    /// Hands waiting requests to connections with a free stream.
    func dispatch() {
        guard !isDispatching, !waiting.isEmpty else { return }
        isDispatching = true
        defer { isDispatching = false }
        guard let authorization = authorization() else { return }
        let now = NIODeadline.now()
        for connection in connections { connection.checkIfSilent(at: now) }
        while !waiting.isEmpty, let id = plan.assignRequest(at: now) {
            guard let job = waiting.popFirst() else { return plan.ended(on: id) }
            guard let connection = connections.first(where: { $0.id == id }) else {
                putBack(job)
                plan.ended(on: id)
                plan.leave(id)
                continue
            }
            if let unsent = connection.send(job, authorization: authorization.value) {
                putBack(unsent)
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
        case .asked:
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
        guard !waiting.isEmpty || !whenOpen.isEmpty else { return }
        switch plan.open(at: .now()) {
        case .open(let id): open(id)
        case .later(let due): scheduleTick(at: due)
        case .none: break
        }
    }

    // MARK: Endings

    /// Handles an answer, or a response that is not from a push service.
    func ended(_ job: Job, _ answer: Ticket.Answer) {
        guard case .success(let success) = answer, !success.isSuccess else {
            if hasTrouble, case .success = answer { tell(nil) }
            return finish(job, answer)
        }
        var again = job
        let error = success.error
        switch decision(after: .answered(success), job) {
        case .finish:
            finish(job, success.reason == nil ? .failure(error) : answer)
        case .elsewhere:
            putBack(job)
        case .again(let due):
            metrics.retried.increment()
            again.due = due
            again.trouble = error
            tell(error)
            delayed.append(again)
            scheduleTick(at: due)
        case .withNewToken:
            metrics.retried.increment()
            again.rejected(success)
            tell(error)
            renewToken(for: again)
        }
    }

    /// Tells why requests have to wait.
    /// - Parameter trouble: nil if they do not have to wait any more.
    private func tell(_ trouble: ProviderError?) {
        hasTrouble = trouble != nil
        settings.troubleChanged(trouble)
    }

    /// Handles a request that the service did not process.
    func refused(_ job: Job, isUnprocessed: Bool, _ error: ProviderError) {
        var again = job
        again.trouble = error
        switch decision(after: isUnprocessed ? .unprocessed : .refused, job) {
        case .elsewhere:
            metrics.retried.increment()
            putBack(again)
        case .again(let due):
            metrics.retried.increment()
            again.due = due
            tell(error)
            delayed.append(again)
            scheduleTick(at: due)
        case .finish, .withNewToken:
            finish(job, .failure(error))
        }
    }

    private func decision(after ending: RetryDecision.Ending, _ job: Job) -> RetryDecision {
        let allowance = RetryDecision.Allowance(
            deadline: job.ticket.deadline, retriesRejections: job.ticket.retriesRejections && !isShuttingDown,
            renewsTokens: job.ticket.renewsTokens, attempts: job.attempts, renewals: job.renewals)
        return RetryDecision(after: ending, allowance, at: .now(), random: random)
    }

    /// Closes everything, because the client was released.
    func abandon() {
        isShuttingDown = true
        for connection in connections { connection.close() }
        for job in waiting.removeAll() + delayed {
            finish(job, .failure(ProviderError(.shutDown, "The client was released.")))
        }
        delayed.removeAll()
        wakeReaders()
    }

    /// Hands the answer to the caller.
    func finish(_ job: Job, _ answer: Ticket.Answer) {
        metrics.count(answer)
        if let reader = job.ticket.complete(answer) { readers.append(reader) }
    }

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
    func scheduleTick(at due: NIODeadline) {
        guard due < timerDue else { return }
        timer?.cancel()
        timerDue = due
        timer = loop.assumeIsolated().scheduleTask(deadline: due) { [weak self] in
            self?.timerDue = .distantFuture
            self?.tick()
        }
    }

    private func tick() {
        let now = NIODeadline.now()
        var next = NIODeadline.distantFuture
        endWaits(at: now)
        replaceOrEnd(at: now)
        expire(at: now)
        let due = delayed.filter { $0.due <= now }
        if !due.isEmpty {
            delayed.removeAll { $0.due <= now }
            for job in due { wait(job) }
        }
        for connection in connections {
            next = min(next, connection.tick(at: now))
        }
        dispatch()
        if !whenOpen.isEmpty { openMore() }
        failThoseThatDoNotWait()
        wakeReaders()
        for job in delayed { next = min(next, job.due) }
        let isBusy =
            !waiting.isEmpty || !delayed.isEmpty || !whenOpen.isEmpty || replacement != nil
            || !whenShutDown.isEmpty || connections.contains { $0.inFlight > 0 }
        if isBusy { next = min(next, now + Self.tickInterval) }
        if next < .distantFuture { scheduleTick(at: max(next, now + .milliseconds(1))) }
    }

    /// Fails the requests whose deadline has passed while they waited, and says what they waited for.
    private func expire(at now: NIODeadline) {
        let isExpired = { (job: Job) in job.ticket.deadline <= now }
        guard waiting.contains(where: isExpired) || delayed.contains(where: isExpired) else { return }
        let expired = waiting.remove(where: isExpired) + delayed.filter(isExpired)
        delayed.removeAll(where: isExpired)
        for job in expired { finish(job, job.ending(job.trouble ?? waitingTrouble)) }
    }

    private var waitingTrouble: ProviderError {
        if !plan.hasOpen, let connectTrouble { return connectTrouble }
        let cause =
            plan.allowsNoStreams ? "The service allows no streams." : "No connection took the notification in time."
        return ProviderError(.deadlineExceeded, cause)
    }
}
