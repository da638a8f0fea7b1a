package import Notifications
import Rates
import Synchronization

/// What becomes of a notification once it is accepted: the thin hand that carries out what ``Acceptances`` decides.
///
/// Nothing here assumes that the device's connection, its mailbox and the request are on the same machine.
package final class Delivery: OfferOutcomes {
    private let registrations: any Registrations
    private let mailboxes: any Mailboxes
    private let switchboard: any Switchboard
    private let limits: DeliveryLimits
    private let clock: @Sendable () -> Timestamp
    private let shards: [Shard]
    private let wakeUps: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    /// How many batches of submissions wait for their registrations.
    private let lookUps = Atomic(0)

    /// - Parameter clock: tells the time, in milliseconds since 1970.
    package init(
        registrations: any Registrations,
        mailboxes: any Mailboxes,
        switchboard: any Switchboard,
        limits: DeliveryLimits = DeliveryLimits(),
        clock: @escaping @Sendable () -> Timestamp,
    ) {
        self.registrations = registrations
        self.mailboxes = mailboxes
        self.switchboard = switchboard
        self.limits = limits
        self.clock = clock
        shards = (0..<DeliveryLimits.shards).map { _ in Shard(limits: limits) }
        (wakeUps, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        switchboard.report(to: self)
    }

    private final class Shard: Sendable {
        let acceptances: Mutex<Acceptances>
        let rates: Mutex<RateTable<Destination>>
        /// How many threads carry out what was decided, which they do once they have given the lock back.
        let performing = Atomic(0)

        init(limits: DeliveryLimits) {
            acceptances = Mutex(Acceptances(limits: limits))
            rates = Mutex(RateTable(limits.requestsPerDeviceToken))
        }

        /// Whether anything is open, or decided and not yet carried out.
        var isBusy: Bool {
            acceptances.withLock { !$0.isEmpty || performing.load(ordering: .acquiring) > 0 }
        }
    }

    /// Takes notifications in the order of their acceptance. Answers that need no waiting come before this returns.
    package func submit(_ submissions: [Submission], answers: any SubmissionAnswers) {
        let now = clock()
        var unknown: [Submission] = []
        for submission in submissions {
            switch registrations.known(submission.destination) {
            case .registered(let registration):
                accept(submission, registration, answers: answers, now: now)
            case .neverRegistered:
                accept(submission, nil, answers: answers, now: now)
            case nil:
                unknown.append(submission)
            }
        }
        if !unknown.isEmpty { lookUp(unknown, answers: answers) }
    }

    /// Ends what is still open: everything accepted is acknowledged, stored or answered when this returns.
    package func drain() async {
        while true {
            for shard in shards { advance(shard) { $0.drain() } }
            guard lookUps.load(ordering: .acquiring) > 0 || shards.contains(where: \.isBusy) else { return }
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
        advance(shard(destination)) { $0.acknowledged(offer) }
    }

    package func returned(_ offer: OfferID, of destination: Destination) {
        advance(shard(destination)) { $0.returned(offer) }
    }
}

extension Delivery {
    private func shard(_ destination: Destination) -> Shard {
        shards[Int(truncatingIfNeeded: destination.device.rawValue % UInt64(shards.count))]
    }

    private func accept(
        _ submission: Submission,
        _ registration: Registration?,
        answers: any SubmissionAnswers,
        now: Timestamp,
    ) {
        guard let registration else {
            let detail = "The service has no registration for this device token."
            return answers.answer(submission.ticket, with: .rejected(Rejection(.badDeviceToken, detail: detail)))
        }
        if let rejection = registration.rejection(ofGeneration: submission.generation) {
            return answers.answer(submission.ticket, with: .rejected(rejection))
        }
        let shard = shard(submission.destination)
        guard shard.rates.withLock({ $0.admits(submission.destination, at: now.nanoseconds) }) else {
            let detail = "This device token was sent to more often than it may be."
            return answers.answer(submission.ticket, with: .rejected(Rejection(.tooManyRequests, detail: detail)))
        }
        let (destination, notification) = (submission.destination, submission.notification)
        guard let expires = limits.expiry(of: notification, now: now) else {
            _ = switchboard.offer(Offer(id: nil, destination: destination, notification: notification))
            return answers.answer(submission.ticket, with: .accepted)
        }
        var isWaiting = false
        advance(shard) { acceptances in
            let id = acceptances.nextOffer()
            // Under the lock, so that two notifications to one destination are offered in the order of acceptance;
            // the switchboard never calls back while it is asked.
            let offer = Offer(id: id, destination: destination, notification: notification)
            let answer = acceptances.mustFollow(destination) ? .returned : switchboard.offer(offer)
            isWaiting = answer == .taken
            return acceptances.accept(
                submission, answers: answers, offer: id, answered: answer, expires: expires, now: now)
        }
        if isWaiting { wake.yield() }
    }

    private func lookUp(_ submissions: [Submission], answers: any SubmissionAnswers) {
        lookUps.add(1, ordering: .relaxed)
        Task {
            defer { lookUps.subtract(1, ordering: .releasing) }
            do throws(StoreError) {
                let found = try await registrations.lookUp(submissions.map(\.destination))
                let now = clock()
                for (submission, registration) in zip(submissions, found) {
                    accept(submission, registration, answers: answers, now: now)
                }
            } catch {
                let rejection = Rejection(.serviceUnavailable, detail: error.cause)
                for submission in submissions { answers.answer(submission.ticket, with: .rejected(rejection)) }
            }
        }
    }

    /// Lets something happen to a shard and does what it then wants done.
    private func advance(_ shard: Shard, _ event: (inout Acceptances) -> [Acceptances.Action]) {
        let actions = shard.acceptances.withLock { acceptances in
            shard.performing.add(1, ordering: .relaxed)
            let actions = event(&acceptances)
            return actions + acceptances.nextBatch()
        }
        defer { shard.performing.subtract(1, ordering: .releasing) }
        for action in actions {
            switch action {
            case .answer(let answers, let ticket, let outcome): answers.answer(ticket, with: outcome)
            case .announce(let stored, let offer): switchboard.stored(stored, offer: offer)
            case .remove(let reference): remove([reference])
            case .store(let offers, let entries): store(offers, entries, in: shard)
            }
        }
    }

    private func store(_ offers: [OfferID], _ entries: [MailboxEntry], in shard: Shard) {
        Task {
            var results = await mailboxes.store(entries)
            // It may have been stored: storing again is harmless and tells for certain.
            let doubtful = results.indices.filter { results[$0].isUnknown }
            if !doubtful.isEmpty {
                let second = await mailboxes.store(doubtful.map { entries[$0] })
                for (index, result) in zip(doubtful, second) { results[index] = result }
            }
            results = await withdraw(entries, results)
            advance(shard) { $0.stored(offers, results: results) }
        }
    }

    /// Takes back what was stored for an app that was removed meanwhile: nothing of it is to reach the device when the
    /// app comes again.
    private func withdraw(
        _ entries: [MailboxEntry],
        _ results: [Result<MailboxVersion, StoreError>],
    ) async -> [Result<MailboxVersion, StoreError>] {
        var results = results
        var references: [MailboxReference] = []
        for (index, entry) in entries.enumerated() {
            guard case .success(let version) = results[index],
                case .registered(let registration) = registrations.known(entry.destination), !registration.isActive
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

    /// Wakes up only while something waits for an acknowledgement.
    private func runDeadlines() async {
        for await _ in wakeUps {
            while shards.contains(where: { $0.acceptances.withLock { $0.isWaiting } }) {
                do {
                    try await Task.sleep(for: limits.acknowledgementGrace / 4)
                } catch {
                    return
                }
                let now = clock()
                for shard in shards { advance(shard) { $0.tick(now: now) } }
            }
        }
    }

    private func runSweep() async {
        while !Task.isCancelled {
            do {
                while try await mailboxes.removeExpired(before: clock(), limit: limits.sweepBatch)
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
