import NIOCore

/// Decides what becomes of the requests that no connection has: which wait for one, which wait for their next attempt, which
/// end, and when to look at them again. It is a value: it takes events, with the time and a random number if they matter, and
/// returns what to do.
struct RequestQueue {
    /// The interval at which deadlines are checked while something is under way.
    static let tickInterval = TimeAmount.milliseconds(50)

    /// A request that ends, with what its caller gets.
    struct Ending {
        let job: Job
        let answer: Ticket.Answer

        init(_ job: Job, _ answer: Ticket.Answer) { (self.job, self.answer) = (job, answer) }

        init(_ job: Job, _ error: ProviderError) { self.init(job, .failure(error)) }
    }

    /// Requests that a connection takes as soon as it can.
    private var waiting = FairQueue<Job>()
    /// Requests that are sent again at a later time.
    private var delayed: [Job] = []
    private let maximumCount: Int
    /// Until when requests may still end; nil unless the client shuts down.
    private var shutDownDeadline: NIODeadline?
    private var nextTick = NIODeadline.distantFuture

    /// - Parameter maximumCount: how many requests may wait.
    init(maximumCount: Int) { self.maximumCount = maximumCount }

    /// Whether the client shuts down, so that no request is accepted any more.
    var isShuttingDown: Bool { shutDownDeadline != nil }
    /// Whether any request waits for a connection.
    var needsConnection: Bool { !waiting.isEmpty }
    var isEmpty: Bool { waiting.isEmpty && delayed.isEmpty }

    // MARK: In and out

    /// What to do with a new request.
    enum AddAction {
        case wait
        /// It waits in place of another one, which ends.
        case waitInPlaceOf(Ending)
        case finish(Ending)
    }

    mutating func add(_ ticket: Ticket) -> AddAction {
        let job = Job(ticket)
        guard !ticket.cancellation.isCancelled else { return .finish(Ending(job, .taskCancelled)) }
        guard !isShuttingDown else { return .finish(Ending(job, .clientShutDown)) }
        guard waiting.count + delayed.count >= maximumCount else {
            wait(job)
            return .wait
        }
        let error = ProviderError(.overloaded, "\(maximumCount) notifications are already waiting.")
        guard let other = waiting.makeRoom(for: ticket.share) else { return .finish(Ending(job, error)) }
        wait(job)
        return .waitInPlaceOf(Ending(other, error))
    }

    private mutating func wait(_ job: Job) { waiting.append(job, share: job.ticket.share) }

    /// Takes the request that is sent next; nil if none waits for a connection.
    mutating func next() -> Job? { waiting.popFirst() }

    /// Puts a request back that was taken. It is the next one.
    mutating func putBack(_ job: Job) { waiting.prepend(job, share: job.ticket.share) }

    // MARK: Requests that come back

    /// What to do after a rejection.
    enum RejectionAction {
        case finish(Ticket.Answer)
        /// Look again at this time, when the request is sent again.
        case wait(until: NIODeadline)
        /// Ask for a new provider token instead of this one. The request waits for it.
        case renewToken(insteadOf: String?)
    }

    /// Handles an answer that is no success, or a response that is not from a push service.
    /// - Parameters:
    ///   - error: the answer as an error.
    ///   - random: from 0 to 1.
    mutating func rejected(
        _ job: Job,
        _ answer: PushAnswer,
        _ error: ProviderError,
        at now: NIODeadline,
        random: Double,
    ) -> RejectionAction {
        var job = job
        switch RetryDecision.AfterAnswer(answer, allowance(of: job), at: now, random: random) {
        case .finish: return .finish(answer.reason == nil ? .failure(error) : .success(answer))
        case .again(let due):
            job.trouble = error
            delay(job, until: due)
            return .wait(until: due)
        case .withNewToken:
            job.rejected(answer)
            job.renewals += 1
            putBack(job)
            return .renewToken(insteadOf: job.token)
        }
    }

    /// What to do after the service refused to process a request.
    enum RefusalAction {
        case finish(Ticket.Answer)
        case sendElsewhere
        /// Look again at this time, when the request is sent again.
        case wait(until: NIODeadline)
    }

    /// Handles a request that the service did not process.
    /// - Parameters:
    ///   - isByGoAway: whether the service said so with GOAWAY. Otherwise it has refused the stream.
    ///   - random: from 0 to 1.
    mutating func refused(
        _ job: Job,
        isByGoAway: Bool,
        _ error: ProviderError,
        at now: NIODeadline,
        random: Double,
    ) -> RefusalAction {
        var job = job
        job.trouble = error
        switch RetryDecision.AfterRefusal(isByGoAway: isByGoAway, allowance(of: job), at: now, random: random) {
        case .finish: return .finish(.failure(error))
        case .elsewhere:
            putBack(job)
            return .sendElsewhere
        case .again(let due):
            delay(job, until: due)
            return .wait(until: due)
        }
    }

    private func allowance(of job: Job) -> RetryDecision.Allowance {
        RetryDecision.Allowance(
            deadline: job.ticket.deadline, retriesRejections: job.ticket.retriesRejections && !isShuttingDown,
            renewsTokens: job.ticket.renewsTokens, attempts: job.attempts, renewals: job.renewals)
    }

    private mutating func delay(_ job: Job, until due: NIODeadline) {
        var job = job
        job.due = due
        delayed.append(job)
    }

    // MARK: Requests that end without a connection

    /// Ends the requests whose call was cancelled.
    mutating func callsCancelled() -> [Ending] {
        remove { $0.ticket.cancellation.isCancelled }.map { Ending($0, .taskCancelled) }
    }

    /// Ends the requests of these shares.
    mutating func gaveUp(_ shares: Set<String>) -> [Ending] {
        remove { $0.ticket.share.map(shares.contains) ?? false }
            .map { Ending($0, ProviderError(.cancelled, "The request was given up.")) }
    }

    /// Handles that no connection can be opened: ends the requests that do not wait for the end of an outage.
    mutating func becameUnreachable(_ error: ProviderError) -> [Ending] {
        waiting.remove { !$0.ticket.waitsForConnection }.map { Ending($0, $0.ending($0.trouble ?? error)) }
    }

    /// Handles that there is no better provider token: ends the requests that wait for one.
    mutating func newTokenIsMissing() -> [Ending] {
        let error = ProviderError(.badCredentials, "There is no provider token.")
        return waiting.remove { $0.renewals > 0 }.map { Ending($0, $0.ending($0.trouble ?? error)) }
    }

    /// Handles that there is no provider token at all.
    mutating func tokenIsMissing(_ error: ProviderError) -> [Ending] {
        waiting.removeAll().map { Ending($0, $0.ending(error)) }
    }

    /// Handles that the client was released.
    mutating func abandon() -> [Ending] {
        shutDownDeadline = .uptimeNanoseconds(0)
        return remove { _ in true }.map { Ending($0, ProviderError(.shutDown, "The client was released.")) }
    }

    /// Refuses new requests. Those that wait may still be sent until the deadline.
    mutating func beginShutDown(until deadline: NIODeadline) { shutDownDeadline = deadline }

    private mutating func remove(where isChosen: (Job) -> Bool) -> [Job] {
        let removed = waiting.remove(where: isChosen) + delayed.filter(isChosen)
        if !delayed.isEmpty { delayed.removeAll(where: isChosen) }
        return removed
    }

    // MARK: Time

    /// What to do because time has passed.
    struct TickAction {
        var endings: [Ending] = []
        /// Whether the time for a graceful end is over, so that all connections are closed.
        var closesConnections = false
    }

    /// Handles the time: ends the requests whose deadline has passed, and lets those wait for a connection whose next attempt
    /// is due.
    /// - Parameter trouble: what requests wait for that have no reason of their own. Asked only for those that end, because
    ///   there is a tick twenty times a second.
    mutating func tick(at now: NIODeadline, waitingFor trouble: @autoclosure () -> ProviderError) -> TickAction {
        nextTick = .distantFuture
        var action = TickAction()
        if let shutDownDeadline, shutDownDeadline <= now {
            action.endings = remove { _ in true }.map { Ending($0, .clientShutDown) }
            action.closesConnections = true
        }
        action.endings += remove { $0.ticket.deadline <= now }.map { Ending($0, $0.ending($0.trouble ?? trouble())) }
        for job in delayed where job.due <= now { wait(job) }
        delayed.removeAll { $0.due <= now }
        return action
    }

    /// When to call ``tick(at:waitingFor:)``.
    enum TimerAction: Hashable {
        case keep
        case set(NIODeadline)
    }

    /// Handles that something has to be looked at until this time.
    mutating func lookAgain(by due: NIODeadline) -> TimerAction {
        guard due < nextTick else { return .keep }
        nextTick = due
        return .set(due)
    }

    /// Decides after a tick when the next one is.
    /// - Parameters:
    ///   - connections: when the connections have to be looked at.
    ///   - isBusy: whether anything beside this queue has a deadline.
    mutating func lookAgain(after now: NIODeadline, connections: NIODeadline, isBusy: Bool) -> TimerAction {
        var next = delayed.reduce(connections) { min($0, $1.due) }
        if isBusy || !isEmpty { next = min(next, now + Self.tickInterval) }
        return next < .distantFuture ? lookAgain(by: max(next, now + .milliseconds(1))) : .keep
    }
}
