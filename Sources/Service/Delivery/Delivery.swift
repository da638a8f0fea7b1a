package import Notifications
package import Rates
import Storage
import Synchronization

/// Delivers accepted notifications. ``Acceptances`` decides what to do, and this type does it.
///
/// The device's connection, its mailbox and the provider's request may be on different machines.
package final class Delivery: OfferOutcomes {
    let accounts: any Accounts
    let registrations: any Registrations
    let mailboxes: any Mailboxes
    private let switchboard: any Switchboard
    private let log: any DeliveryLog
    private let feedback: FeedbackRecorder
    let limits: DeliveryLimits
    /// Whether other nodes use the same store.
    let isShared: Bool
    private let limitExceeded: @Sendable (Limit) -> Void
    private let isExpired: @Sendable (Destination) -> Bool
    package let clock: ServiceClock
    let shards: [Shard]
    let storingTurn = Mutex(StoringTurn())
    let wakeUps: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    /// Submissions that wait until a registration was looked up.
    private let lookUps = WaitingSubmissions()
    /// Whether the service is shutting down, and no longer waits for a store that gives no result.
    let isDraining = Atomic(false)
    /// The apps whose mailboxes keep more than one notification.
    let keeping: KeepingApps

    /// - Parameters:
    ///   - origin: an origin that no other process has had. It makes the identifiers of offers unique.
    ///   - limitExceeded: called on any thread if a limit makes the service refuse a notification.
    ///   - isExpired: returns whether an inactive device token counts as expired. Only tests use this.
    package init(
        accounts: any Accounts,
        registrations: any Registrations,
        mailboxes: any Mailboxes,
        switchboard: any Switchboard,
        feedback: any Feedback,
        origin: OfferOrigin,
        log: any DeliveryLog = NoDeliveryLog(),
        limits: DeliveryLimits = DeliveryLimits(),
        limitExceeded: @escaping @Sendable (Limit) -> Void = { _ in },
        isExpired: @escaping @Sendable (Destination) -> Bool = { _ in false },
        clock: ServiceClock,
    ) {
        self.accounts = accounts
        self.registrations = registrations
        self.mailboxes = mailboxes
        self.switchboard = switchboard
        self.log = log
        self.feedback = FeedbackRecorder(store: feedback)
        self.limits = limits
        isShared = mailboxes.isShared
        self.limitExceeded = limitExceeded
        self.isExpired = isExpired
        self.clock = clock
        let keeping = KeepingApps(accounts.current.keeping.keys)
        self.keeping = keeping
        shards = (0..<DeliveryLimits.shards).map {
            let names = OfferNames(origin: origin, part: $0, of: DeliveryLimits.shards)
            return Shard(limits: limits, names: names, isShared: mailboxes.isShared, keeping: keeping)
        }
        (wakeUps, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        switchboard.report(to: self)
    }

    final class Shard: Sendable {
        let acceptances: Mutex<Acceptances>
        let rates: Mutex<RateTable<Destination>>
        /// The number of threads that carry out this shard's decisions at the moment, after they have released its
        /// lock.
        let performing = Atomic(0)

        init(limits: DeliveryLimits, names: OfferNames, isShared: Bool, keeping: KeepingApps) {
            acceptances = Mutex(
                Acceptances(limits: limits, names: names, isShared: isShared, keeping: keeping))
            rates = Mutex(RateTable(limits.requestsPerDeviceToken))
        }

        /// Whether a notification has no outcome yet, or a decision has not been carried out yet.
        var isBusy: Bool {
            acceptances.withLock { !$0.isEmpty || performing.load(ordering: .acquiring) > 0 }
        }
    }

    /// The number of notifications that wait for the store or are being stored.
    package var pendingStores: Int {
        shards.reduce(0) { count, shard in count + shard.acceptances.withLock { $0.pendingStores } }
    }

    /// How full the fullest queue for the store is, from 0 (empty) to 1 (at its limit).
    package var storeLoad: Double {
        let most = shards.reduce(0) { most, shard in max(most, shard.acceptances.withLock { $0.pendingStores }) }
        return min(1, Double(most) / Double(max(1, limits.pendingStoresPerShard)))
    }

    /// Accepts the notifications of one connection, in the order in which they came. If the registration of one has
    /// to be looked up, all later notifications of that connection wait for it, even those of later calls.
    /// Connections do not wait for each other. Answers that need no waiting are given before this returns.
    ///
    /// - Parameter answers: the connection. It must not call this on two threads at the same time.
    package func submit(_ submissions: [Submission], answers: any SubmissionAnswers) {
        let now = clock.moment
        let batch = WaitingSubmissions.Batch(
            submissions: submissions, read: now.uptime, wasStopped: isShared && mailboxes.wasStopped)
        // Its rejections may not overtake earlier answers either: after an error a connection of the binary API ends.
        if !lookUps.isEmpty, lookUps.append(batch, of: answers) { return }
        if batch.wasStopped {
            reject(submissions, .nodeWasStopped, answers: answers, now: now)
            return
        }
        let known = registrations.knownRegistration(ofEach: submissions.map(\.destination.ofApp))
        for (index, submission) in submissions.enumerated() {
            guard let known = known[index], !isDoubtful(known, submission) else {
                let rest = WaitingSubmissions.Batch(
                    submissions: Array(submissions[index...]), read: now.uptime, wasStopped: false)
                return lookUp(rest, answers: answers)
            }
            guard accept(submission, known.registration, answers: answers, read: now.uptime, now: now) else { return }
        }
    }

    /// Whether the store has to be asked before the notification is rejected because of what this node knows. Another node
    /// may have given out the device token a moment ago, and a provider that is told that a token is bad forgets it.
    private func isDoubtful(_ known: KnownRegistration, _ submission: Submission) -> Bool {
        guard isShared else { return false }
        guard let registration = known.registration else { return true }
        return registration.rejection(ofGeneration: submission.generation) != nil
    }

    /// Returns why a notification would be rejected now; nil if it would be accepted. It is not sent, and does not
    /// count for any rate.
    package func refusal(of submission: Submission) async -> Rejection? {
        do throws(StoreError) {
            let found = try await registrations.lookUp([submission.destination.ofApp])
            return standing(of: submission, found.first.flatMap(\.self))
        } catch {
            return Rejection(error)
        }
    }

    /// A message was removed from a queue, and must not be sent any more.
    func withdrawn(_ reference: MailboxReference) { switchboard.withdrawn(reference) }

    /// Waits until all inactive device tokens seen so far are on their feedback lists.
    package func flushFeedback() async { await feedback.flush() }

    /// Completes all open notifications. When this returns, each of them is acknowledged, stored or answered.
    package func drain() async {
        isDraining.store(true, ordering: .relaxed)
        while true {
            for shard in shards { advance(shard) { $0.drain() } }
            guard !lookUps.isEmpty || shards.contains(where: \.isBusy) else {
                return await feedback.flush()
            }
            // Wait in a separate task that nobody cancels. If the caller is cancelled, a sleep here would return at
            // once, and this loop would spin without waiting for the disk.
            await Task { try? await Task.sleep(for: Self.drainPoll) }.value
        }
    }

    /// How often a drain checks whether the store has answered.
    private static let drainPoll = Duration.milliseconds(2)

    package func acknowledged(_ offer: OfferID, of destination: Destination) {
        advance(shard(destination)) { $0.acknowledged(offer, of: destination) }
    }

    package func returned(_ offer: OfferID, of destination: Destination) {
        advance(shard(destination)) { $0.returned(offer, of: destination) }
    }
}

extension Delivery {
    private func shard(_ destination: Destination) -> Shard {
        shards[Int(truncatingIfNeeded: destination.device.rawValue % UInt64(shards.count))]
    }

    /// Accepts or rejects a submission.
    /// - Parameter read: when its request was read.
    /// - Returns: Whether to go on with the next submission of the batch.
    private func accept(
        _ submission: Submission,
        _ registration: Registration?,
        answers: any SubmissionAnswers,
        read: Uptime,
        now: Moment,
    ) -> Bool {
        let shard = shard(submission.destination)
        if let rejection = rejection(of: submission, registration, in: shard, now: now) {
            record(.rejected(rejection.reason), submission, now)
            recordFeedback(on: submission, rejection)
            answers.answer(submission.ticket, with: .rejected(rejection))
            return answers.takesMore
        }
        record(.accepted, submission, now)
        // Two calls, because one with a conditional expression would copy every submission.
        if clock.isAnyAdvanced {
            offerOrStore(atTeamTime(submission), in: shard, answers: answers, read: read, now: now)
        } else {
            offerOrStore(submission, in: shard, answers: answers, read: read, now: now)
        }
        return true
    }

    /// Converts the expiration to the team's time. Providers do not know that a test has advanced a clock, so they send
    /// times of the machine's clock.
    private func atTeamTime(_ submission: Submission) -> Submission {
        var submission = submission
        submission.notification.fields.expiration = clock.teamExpiration(
            ofClient: submission.notification.expiration, for: submission.destination.app)
        return submission
    }

    /// Adds the device token to its app's feedback list if the rejection says that the app was removed (Guide,
    /// 3.1.3).
    private func recordFeedback(on submission: Submission, _ rejection: Rejection) {
        guard rejection.reason == .unregistered, let milliseconds = rejection.timestamp,
            let token = submission.deviceToken
        else { return }
        feedback.record(
            FeedbackEntry(
                destination: submission.destination,
                generation: submission.generation,
                token: token,
                moment: Timestamp(milliseconds: milliseconds),
            ))
    }

    private func offerOrStore(
        _ submission: Submission,
        in shard: Shard,
        answers: any SubmissionAnswers,
        read: Uptime,
        now: Moment,
    ) {
        let (destination, notification) = (submission.destination, submission.notification)
        guard let expires = limits.expiry(of: notification, now: clock.teams.time(now.time, of: destination.app)) else {
            let offer = Offer(id: nil, destination: destination, notification: notification)
            if switchboard.offer(offer, now: now) == .returned { record(.discarded(.oneAttempt), submission, now) }
            return answers.answer(submission.ticket, with: .accepted)
        }
        var isFirst = false
        advance(shard, now) { acceptances in
            let id = acceptances.nextOffer()
            // Offer while holding the lock, so that two notifications to one destination are offered in the order of
            // acceptance. This cannot deadlock: the switchboard never calls back during an offer.
            let offer = Offer(id: id, destination: destination, notification: notification)
            let answer = acceptances.mustFollow(destination) ? .returned : switchboard.offer(offer, now: now)
            // If another notification waits already, its deadline is scheduled and comes first.
            isFirst = answer == .taken && !acceptances.isWaiting
            return acceptances.accept(
                submission, answers: answers, offer: id, answered: answer, expires: expires, read: read,
                now: now.uptime)
        }
        if isFirst { wake.yield() }
    }

    /// Returns why the notification is rejected; nil if it is accepted.
    private func rejection(
        of submission: Submission,
        _ registration: Registration?,
        in shard: Shard,
        now: Moment,
    ) -> Rejection? {
        if let rejection = standing(of: submission, registration) { return rejection }
        guard shard.rates.withLock({ $0.admits(submission.destination, at: now.uptime.nanoseconds) }) else {
            return Rejection(.tooManyRequests, detail: "Too many notifications were sent to this device token.")
        }
        return nil
    }

    /// Returns why the device token is not valid; nil if it is valid.
    private func standing(of submission: Submission, _ registration: Registration?) -> Rejection? {
        guard let registration else {
            return Rejection(.badDeviceToken, detail: "The service has no registration for this device token.")
        }
        if var rejection = registration.rejection(ofGeneration: submission.generation) {
            if rejection.reason == .unregistered, isExpired(submission.destination) {
                rejection.reason = .expiredToken
                rejection.detail = "The device token has expired."
            }
            return rejection
        }
        return nil
    }

    private func record(_ step: DeliveryStep, _ submission: Submission, _ now: Moment) {
        let subject = NotificationSubject(
            submission.notification, to: submission.destination, generation: submission.generation)
        log.record(DeliveryEvent(time: now.time, step: step, subject: subject))
    }

    private func lookUp(_ batch: WaitingSubmissions.Batch, answers: any SubmissionAnswers) {
        lookUps.begin(answers)
        Task {
            var takesMore = await acceptLookingUp(batch, answers: answers)
            while let batch = lookUps.next(of: answers) {
                if takesMore { takesMore = await acceptLookingUp(batch, answers: answers) }
            }
        }
    }

    /// Accepts submissions, and looks up the registrations that are not known.
    /// - Returns: Whether to go on with the submissions that follow.
    private func acceptLookingUp(_ batch: WaitingSubmissions.Batch, answers: any SubmissionAnswers) async -> Bool {
        if batch.wasStopped { return reject(batch.submissions, .nodeWasStopped, answers: answers, now: clock.moment) }
        do throws(StoreError) {
            let found = try await registrations.lookUp(batch.submissions.map(\.destination.ofApp))
            let now = clock.moment
            // The process may have been stopped since the requests were read, or the machine, which the uptime does not count.
            if isShared, mailboxes.wasStopped || batch.read.advanced(by: limits.promptStoring) < now.uptime {
                return reject(batch.submissions, .lateNotification, answers: answers, now: now)
            }
            for (submission, registration) in zip(batch.submissions, found) {
                guard accept(submission, registration, answers: answers, read: batch.read, now: now) else {
                    return false
                }
            }
            return true
        } catch {
            return reject(batch.submissions, Rejection(error), answers: answers, now: clock.moment)
        }
    }

    /// Rejects submissions for the same reason.
    /// - Returns: Whether to go on with the submissions that follow.
    @discardableResult
    private func reject(
        _ submissions: [Submission],
        _ rejection: Rejection,
        answers: any SubmissionAnswers,
        now: Moment,
    ) -> Bool {
        for submission in submissions {
            record(.rejected(rejection.reason), submission, now)
            answers.answer(submission.ticket, with: .rejected(rejection))
            guard answers.takesMore else { return false }
        }
        return true
    }

    /// Applies an event to a shard and performs the resulting actions.
    /// - Parameter now: the time; nil if the caller has not read the clock yet.
    func advance(
        _ shard: Shard,
        _ now: Moment? = nil,
        _ event: (inout Acceptances) -> [Acceptances.Action],
    ) {
        let (actions, hasBatch) = shard.acceptances.withLock { acceptances in
            shard.performing.add(1, ordering: .relaxed)
            return (event(&acceptances), acceptances.hasBatch)
        }
        defer { shard.performing.subtract(1, ordering: .releasing) }
        for action in actions { perform(action, now) }
        if hasBatch { storeWhatWaits() }
    }

    /// Keep this in one function: inlined at six call sites, it made pushes slower at less than full load.
    @inline(never)
    func perform(_ action: Acceptances.Action, _ now: Moment?) {
        switch action {
        case .answer(let answers, let ticket, let outcome): answers.answer(ticket, with: outcome)
        case .announce(let stored, let offer): switchboard.stored(stored, offer: offer)
        case .remove(let reference): mailboxes.removeSoon([reference])
        case .limitExceeded(let limit): limitExceeded(limit)
        case .record(let step, let subject):
            let time = now?.time ?? clock.time
            log.record(DeliveryEvent(time: time, step: step, subject: subject))
        }
    }
}
