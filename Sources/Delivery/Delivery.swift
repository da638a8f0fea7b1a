import Notifications
import Rates
import Synchronization

/// What becomes of a notification once it is accepted: the thin hand that carries out what ``Acceptances`` decides.
///
/// Nothing here assumes that the device's connection, its mailbox and the request are on the same machine.
package final class Delivery: OfferOutcomes {
    private let registrations: any Registrations
    private let mailboxes: any Mailboxes
    private let switchboard: any Switchboard
    private let log: any DeliveryLog
    private let feedback: FeedbackRecorder
    private let limits: DeliveryLimits
    private let struck: @Sendable (DeliveryLimit) -> Void
    private let clock: @Sendable () -> Moment
    private let shards: [Shard]
    private let storeQueue = StoreQueue()
    private let wakeUps: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    /// How many batches of submissions wait for their registrations.
    private let lookUps = Atomic(0)
    /// Whether nobody waits for a store that does not say what it did.
    private let isDraining = Atomic(false)

    /// - Parameters:
    ///   - struck: told of bounds that turn a notification away, on any thread.
    ///   - clock: tells the time.
    package init(
        registrations: any Registrations,
        mailboxes: any Mailboxes,
        switchboard: any Switchboard,
        feedback: any Feedback,
        log: any DeliveryLog = NoDeliveryLog(),
        limits: DeliveryLimits = DeliveryLimits(),
        struck: @escaping @Sendable (DeliveryLimit) -> Void = { _ in },
        clock: @escaping @Sendable () -> Moment,
    ) {
        self.registrations = registrations
        self.mailboxes = mailboxes
        self.switchboard = switchboard
        self.log = log
        self.feedback = FeedbackRecorder(store: feedback)
        self.limits = limits
        self.struck = struck
        self.clock = clock
        shards = (0..<DeliveryLimits.shards).map { Shard(number: $0, limits: limits) }
        (wakeUps, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        switchboard.report(to: self)
    }

    private final class Shard: Sendable {
        let number: Int
        let acceptances: Mutex<Acceptances>
        let rates: Mutex<RateTable<Destination>>
        /// How many threads carry out what was decided, which they do once they have given the lock back.
        let performing = Atomic(0)

        init(number: Int, limits: DeliveryLimits) {
            self.number = number
            acceptances = Mutex(Acceptances(limits: limits))
            rates = Mutex(RateTable(limits.requestsPerDeviceToken))
        }

        /// Whether anything is open, or decided and not yet carried out.
        var isBusy: Bool {
            acceptances.withLock { !$0.isEmpty || performing.load(ordering: .acquiring) > 0 }
        }
    }

    /// How many notifications are waiting to be stored, or being stored.
    package var pendingStores: Int {
        shards.reduce(0) { count, shard in count + shard.acceptances.withLock { $0.pendingStores } }
    }

    /// Takes notifications in the order of their acceptance. Answers that need no waiting come before this returns.
    package func submit(_ submissions: [Submission], answers: any SubmissionAnswers) {
        let now = clock()
        let known = registrations.known(submissions.map(\.destination))
        for (index, submission) in submissions.enumerated() {
            guard let known = known[index] else {
                // What follows one that has to wait waits as well, so that a batch stays in its order.
                return lookUp(Array(submissions[index...]), answers: answers)
            }
            guard accept(submission, known.registration, answers: answers, now: now) else { return }
        }
    }

    /// Returns once the device tokens of all submissions so far whose app is gone are on their lists.
    package func settleFeedback() async { await feedback.settle() }

    /// Ends what is still open: everything accepted is acknowledged, stored or answered when this returns.
    package func drain() async {
        isDraining.store(true, ordering: .relaxed)
        while true {
            for shard in shards { advance(shard) { $0.drain() } }
            guard lookUps.load(ordering: .acquiring) > 0 || shards.contains(where: \.isBusy) else {
                return await feedback.settle()
            }
            // In a task of its own, which nobody cancels: the wait for the disk does not end with the caller's task,
            // nor turn into a loop that never gives its thread back.
            await Task { try? await Task.sleep(for: Self.drainPoll) }.value
        }
    }

    /// How often a drain looks whether the store has answered.
    private static let drainPoll = Duration.milliseconds(2)

    /// Does what time demands until the task is cancelled: stores what was not acknowledged in time, and removes what
    /// has expired.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.runDeadlines() }
            group.addTask { await self.runSweep() }
        }
    }

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

    /// Takes a submission, or rejects it.
    /// - Returns: whether the next one of its batch is to be taken.
    private func accept(
        _ submission: Submission,
        _ registration: Registration?,
        answers: any SubmissionAnswers,
        now: Moment,
    ) -> Bool {
        let shard = shard(submission.destination)
        if let rejection = rejection(of: submission, registration, in: shard, now: now) {
            record(.rejected(rejection.reason), submission, now)
            noteFeedback(on: submission, rejection)
            answers.answer(submission.ticket, with: .rejected(rejection))
            return answers.takesMore
        }
        record(.accepted, submission, now)
        take(submission, in: shard, answers: answers, now: now)
        return true
    }

    /// An attempt to reach an app that is gone puts the device token on its app's list (Guide, 3.1.3).
    private func noteFeedback(on submission: Submission, _ rejection: Rejection) {
        guard rejection.reason == .unregistered, let milliseconds = rejection.timestamp else { return }
        feedback.note(
            FeedbackEntry(
                destination: submission.destination,
                generation: submission.generation,
                token: submission.deviceToken,
                moment: Timestamp(milliseconds: milliseconds),
            ))
    }

    private func take(_ submission: Submission, in shard: Shard, answers: any SubmissionAnswers, now: Moment) {
        let (destination, notification) = (submission.destination, submission.notification)
        guard let expires = limits.expiry(of: notification, now: now.time) else {
            let offer = Offer(id: nil, destination: destination, notification: notification)
            if switchboard.offer(offer, now: now) == .returned { record(.discarded(.oneAttempt), submission, now) }
            return answers.answer(submission.ticket, with: .accepted)
        }
        var isFirst = false
        advance(shard, now) { acceptances in
            let id = acceptances.nextOffer()
            // Under the lock, so that two notifications to one destination are offered in the order of acceptance;
            // the switchboard never calls back while it is asked.
            let offer = Offer(id: id, destination: destination, notification: notification)
            let answer = acceptances.mustFollow(destination) ? .returned : switchboard.offer(offer, now: now)
            // The deadlines are looked at already where something else waits.
            isFirst = answer == .taken && !acceptances.isWaiting
            return acceptances.accept(
                submission, answers: answers, offer: id, answered: answer, expires: expires, now: now.uptime)
        }
        if isFirst { wake.yield() }
    }

    /// Why a notification is not accepted, where it is not.
    private func rejection(
        of submission: Submission,
        _ registration: Registration?,
        in shard: Shard,
        now: Moment,
    ) -> Rejection? {
        guard let registration else {
            return Rejection(.badDeviceToken, detail: "The service has no registration for this device token.")
        }
        if let rejection = registration.rejection(ofGeneration: submission.generation) { return rejection }
        guard shard.rates.withLock({ $0.admits(submission.destination, at: now.uptime.nanoseconds) }) else {
            return Rejection(.tooManyRequests, detail: "This device token was sent to more often than it may be.")
        }
        return nil
    }

    private func record(_ step: DeliveryStep, _ submission: Submission, _ now: Moment) {
        let subject = NotificationSubject(
            submission.notification, to: submission.destination, generation: submission.generation)
        log.record(DeliveryEvent(time: now.time, step: step, subject: subject))
    }

    private func lookUp(_ submissions: [Submission], answers: any SubmissionAnswers) {
        lookUps.add(1, ordering: .relaxed)
        Task {
            defer { lookUps.subtract(1, ordering: .releasing) }
            do throws(StoreError) {
                let found = try await registrations.lookUp(submissions.map(\.destination))
                let now = clock()
                for (submission, registration) in zip(submissions, found) {
                    guard accept(submission, registration, answers: answers, now: now) else { return }
                }
            } catch {
                let rejection = Rejection(error)
                let now = clock()
                for submission in submissions {
                    record(.rejected(rejection.reason), submission, now)
                    answers.answer(submission.ticket, with: .rejected(rejection))
                    guard answers.takesMore else { return }
                }
            }
        }
    }

    /// Lets something happen to a shard and does what it then wants done.
    /// - Parameter now: nil where nobody has looked at the clock yet.
    private func advance(
        _ shard: Shard,
        _ now: Moment? = nil,
        _ event: (inout Acceptances) -> [Acceptances.Action],
    ) {
        let (actions, batch) = shard.acceptances.withLock { acceptances in
            shard.performing.add(1, ordering: .relaxed)
            return (event(&acceptances), acceptances.nextBatch())
        }
        defer { shard.performing.subtract(1, ordering: .releasing) }
        for action in actions { perform(action, of: shard, now) }
        for action in batch { perform(action, of: shard, now) }
    }

    /// In one place, though the compiler would have it in six: at less than full load a push waits for its code.
    @inline(never)
    private func perform(_ action: Acceptances.Action, of shard: Shard, _ now: Moment?) {
        switch action {
        case .answer(let answers, let ticket, let outcome): answers.answer(ticket, with: outcome)
        case .announce(let stored, let offer): switchboard.stored(stored, offer: offer)
        case .remove(let reference): remove([reference])
        case .store(let entries): store(StoreQueue.Batch(shard: shard.number, entries: entries))
        case .struck(let limit): struck(limit)
        case .note(let step, let subject):
            let time = now?.time ?? clock().time
            log.record(DeliveryEvent(time: time, step: step, subject: subject))
        }
    }

    private func store(_ batch: StoreQueue.Batch) {
        guard storeQueue.add(batch) else { return }
        Task {
            while true {
                let batches = storeQueue.next()
                guard !batches.isEmpty else { break }
                stored(batches, await mailboxes.store(batches.flatMap(\.entries)))
            }
        }
    }

    /// Tells the shards what the store said, and the providers once all shards know: each connection is woken once.
    private func stored(_ batches: [StoreQueue.Batch], _ results: [Result<MailboxVersion, StoreError>]) {
        let now = clock()
        var results = results[...]
        var answers = GatheredAnswers()
        // What is not yet answered is not yet done.
        for batch in batches { shards[batch.shard].performing.add(1, ordering: .relaxed) }
        for batch in batches {
            let batchResults = Array(results.prefix(batch.entries.count))
            results = results.dropFirst(batch.entries.count)
            if isFinal(batch, batchResults) {
                stored(batch, batchResults, now, &answers)
            } else {
                finish(batch, batchResults)
            }
        }
        answers.give()
        for batch in batches { shards[batch.shard].performing.subtract(1, ordering: .releasing) }
    }

    private func stored(
        _ batch: StoreQueue.Batch,
        _ results: [Result<MailboxVersion, StoreError>],
        _ now: Moment,
        _ answers: inout GatheredAnswers,
    ) {
        let shard = shards[batch.shard]
        let (actions, next) = shard.acceptances.withLock { acceptances in
            (acceptances.stored(results, now: now.uptime), acceptances.nextBatch())
        }
        for action in actions {
            if case .answer(let receiver, let ticket, let outcome) = action {
                answers.append((ticket, outcome), for: receiver)
            } else {
                perform(action, of: shard, now)
            }
        }
        for action in next { perform(action, of: shard, now) }
    }

    /// Whether nothing more is to be done with a batch: it is certain what was stored, and still wanted.
    private func isFinal(_ batch: StoreQueue.Batch, _ results: [Result<MailboxVersion, StoreError>]) -> Bool {
        !results.contains(where: \.isUnknown)
            && registrations.known(batch.entries.map(\.destination)).allSatisfy { $0?.registration?.isActive ?? true }
    }

    /// In a task of its own, since it may take as long as the disk is out of order.
    private func finish(_ batch: StoreQueue.Batch, _ results: [Result<MailboxVersion, StoreError>]) {
        Task {
            var results = await settle(batch.entries, results)
            results = await withdraw(batch.entries, results)
            let now = clock()
            advance(shards[batch.shard], now) { $0.stored(results, now: now.uptime) }
        }
    }

    /// Stores what may or may not have been stored again, which is harmless, until the store says that it is there:
    /// answered as refused, it could stand in the place of one that was accepted. Only a service that shuts down does
    /// not wait for a store that stays in doubt.
    private func settle(
        _ entries: [MailboxEntry],
        _ results: [Result<MailboxVersion, StoreError>],
    ) async -> [Result<MailboxVersion, StoreError>] {
        var results = results
        var doubtful = results.indices.filter { results[$0].isUnknown }
        var delay = Self.firstRetry
        while !doubtful.isEmpty {
            let again = await mailboxes.store(doubtful.map { entries[$0] })
            for (index, result) in zip(doubtful, again) {
                // That it was not stored now does not mean that it was not before.
                if case .success = result { results[index] = result }
            }
            doubtful = doubtful.filter { results[$0].isUnknown }
            guard !doubtful.isEmpty, !isDraining.load(ordering: .relaxed) else { break }
            // Nobody cancels this task.
            try? await Task.sleep(for: delay)
            delay = min(delay * 2, Self.lastRetry)
        }
        return results
    }

    /// How long to wait before a store that is in doubt is asked again, at first and at most: a hiccup is over soon, and
    /// a disk that is being replaced is not to be asked more than once a second.
    private static let firstRetry = Duration.milliseconds(5)
    private static let lastRetry = Duration.seconds(1)

    /// Takes back what was stored for an app that was removed meanwhile: nothing of it is to reach the device when the
    /// app comes again.
    private func withdraw(
        _ entries: [MailboxEntry],
        _ results: [Result<MailboxVersion, StoreError>],
    ) async -> [Result<MailboxVersion, StoreError>] {
        var results = results
        var references: [MailboxReference] = []
        let known = registrations.known(entries.map(\.destination))
        for (index, entry) in entries.enumerated() {
            guard case .success(let version) = results[index], let registration = known[index]?.registration,
                !registration.isActive
            else { continue }
            references.append(MailboxReference(destination: entry.destination, version: version))
            results[index] = .failure(StoreError(.ended(at: registration.changed), "The app was removed."))
        }
        // What cannot be removed now expires.
        if !references.isEmpty { _ = await mailboxes.remove(references) }
        return results
    }

    private func remove(_ references: [MailboxReference]) {
        Task {
            // A removal that fails leaves a notification that was delivered: it is delivered again, which at least
            // once allows.
            _ = await mailboxes.remove(references)
        }
    }

    /// Wakes up only while something waits for an acknowledgement, and then for the first that is due: what comes
    /// meanwhile is due later.
    private func runDeadlines() async {
        for await _ in wakeUps {
            while let next = nextDeadline() {
                let remaining = next.duration(since: clock().uptime)
                do {
                    // Where many are late one after the other, they are gathered.
                    try await Task.sleep(for: max(remaining, limits.acknowledgementGrace / 4))
                } catch {
                    return
                }
                let now = clock()
                for shard in shards { advance(shard, now) { $0.tick(now: now.uptime) } }
            }
        }
    }

    private func nextDeadline() -> Uptime? {
        shards.lazy.compactMap { shard in shard.acceptances.withLock { $0.nextDeadline() } }.min()
    }

    private func runSweep() async {
        while !Task.isCancelled {
            do {
                while try await mailboxes.removeExpired(before: clock().time, limit: limits.sweepBatch)
                    == limits.sweepBatch
                {}
            } catch {
                // What has expired is not delivered in any case; the next sweep tries again.
            }
            do {
                try await Task.sleep(for: limits.sweepInterval)
            } catch {
                return
            }
        }
    }
}

extension Result<MailboxVersion, StoreError> {
    fileprivate var isUnknown: Bool {
        if case .failure(let error) = self { error.code == .unknown } else { false }
    }
}
