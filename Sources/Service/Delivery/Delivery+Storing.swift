import Storage
import Synchronization

// Stores notifications in mailboxes.
extension Delivery {
    /// The notifications of one shard that have to be stored.
    private struct Batch: Sendable {
        let shard: Shard
        let entries: [MailboxEntry]
    }

    /// Stores the waiting notifications of all shards as one batch. Those that arrive while the store is busy form
    /// the next batch. So one transaction, one task and one wake-up for each connection suffice for many
    /// notifications.
    func storeWhatWaits() {
        guard storingTurn.withLock({ $0.request() }) else { return }
        Task {
            while storingTurn.withLock({ $0.goOn() }) {
                let batches = shards.compactMap(nextBatch)
                guard !batches.isEmpty else { continue }
                let began = clock.moment.uptime
                stored(batches, await mailboxes.store(batches.flatMap(\.entries)), began)
            }
        }
    }

    private func nextBatch(of shard: Shard) -> Batch? {
        let now = clock.moment.uptime
        let (entries, actions) = shard.acceptances.withLock { acceptances in
            shard.performing.add(1, ordering: .relaxed)
            return acceptances.nextBatch(now: now)
        }
        defer { shard.performing.subtract(1, ordering: .releasing) }
        for action in actions { perform(action, nil) }
        return entries.isEmpty ? nil : Batch(shard: shard, entries: entries)
    }

    /// Gives the store's results to the shards. When all shards have their results, gives the providers their
    /// answers, so that each connection wakes only once.
    /// - Parameter began: when the batches were passed to the store.
    private func stored(_ batches: [Batch], _ results: [Result<MailboxVersion, StoreError>], _ began: Uptime) {
        let now = clock.moment
        var results = results[...]
        var answers = GatheredAnswers()
        // A shard counts as busy until its answers were given.
        for batch in batches { batch.shard.performing.add(1, ordering: .relaxed) }
        for batch in batches {
            let batchResults = Array(results.prefix(batch.entries.count))
            results = results.dropFirst(batch.entries.count)
            if batchResults.contains(where: \.isUnknown) {
                finish(batch, batchResults, began)
            } else {
                stored(batch, batchResults, now, &answers)
            }
        }
        answers.give()
        for batch in batches { batch.shard.performing.subtract(1, ordering: .releasing) }
    }

    private func stored(
        _ batch: Batch,
        _ results: [Result<MailboxVersion, StoreError>],
        _ now: Moment,
        _ answers: inout GatheredAnswers,
    ) {
        let (actions, hasBatch, retries) = batch.shard.acceptances.withLock { acceptances in
            (acceptances.stored(results, now: now.uptime), acceptances.hasBatch, acceptances.beginRetry())
        }
        for action in actions {
            if case .answer(let receiver, let ticket, let outcome) = action {
                answers.append((ticket, outcome), for: receiver)
            } else {
                perform(action, now)
            }
        }
        if hasBatch { storeWhatWaits() }
        if retries { retryLocked(in: batch.shard) }
    }

    /// Stores again, after a pause, what another transaction has locked.
    private func retryLocked(in shard: Shard) {
        Task {
            // The sleep cannot fail, because nobody cancels this task.
            try? await Task.sleep(for: limits.lockedPause)
            advance(shard) { $0.retryLocked() }
        }
    }

    /// Completes a batch with uncertain results. This runs in a separate task, because it may take as long as the
    /// disk fails.
    private func finish(_ batch: Batch, _ results: [Result<MailboxVersion, StoreError>], _ began: Uptime) {
        Task {
            let results = await storeUntilKnown(batch.entries, results, began)
            let now = clock.moment
            var retries = false
            advance(batch.shard, now) { acceptances in
                defer { retries = acceptances.beginRetry() }
                return acceptances.stored(results, now: now.uptime)
            }
            if retries { retryLocked(in: batch.shard) }
        }
    }

    /// Stores notifications again if it is uncertain whether they were stored, until the store confirms them. Storing
    /// twice is harmless. But if such a notification was reported as rejected, it could still replace one that was
    /// accepted. Only a service that shuts down gives up if the store gives no result.
    ///
    /// The first attempt may have succeeded long ago. Then the device may have the notification, and a newer one may have
    /// come through another node. So a repeated attempt has an age, and does not replace such a notification.
    private func storeUntilKnown(
        _ entries: [MailboxEntry],
        _ results: [Result<MailboxVersion, StoreError>],
        _ began: Uptime,
    ) async -> [Result<MailboxVersion, StoreError>] {
        var results = results
        var doubtful = results.indices.filter { results[$0].isUnknown }
        var delay = Self.firstRetry
        while !doubtful.isEmpty {
            let age = clock.moment.uptime.duration(since: began)
            let again = await mailboxes.store(
                doubtful.map { index in
                    var entry = entries[index]
                    if isShared { (entry.waited, entry.age) = (nil, max(age, entry.age ?? .zero)) }
                    return entry
                })
            for (index, result) in zip(doubtful, again) where result.isFinal {
                results[index] = result
            }
            doubtful = doubtful.filter { results[$0].isUnknown }
            guard !doubtful.isEmpty, !isDraining.load(ordering: .relaxed) else { break }
            // The sleep cannot fail, because nobody cancels this task.
            try? await Task.sleep(for: delay)
            delay = min(delay * 2, Self.lastRetry)
        }
        return results
    }

    /// The first delay before the store is asked again. Delays grow up to the longest one below: a short failure is
    /// over soon, but a disk that is being replaced should be asked only once a second.
    private static let firstRetry = Duration.milliseconds(5)
    private static let lastRetry = Duration.seconds(1)
}

extension Result<MailboxVersion, StoreError> {
    fileprivate var isUnknown: Bool {
        if case .failure(let error) = self { error.code == .unknown } else { false }
    }

    /// Whether no later attempt to store the notification can have another result.
    fileprivate var isFinal: Bool {
        switch self {
        case .success: true
        case .failure(let error):
            switch error.code {
            case .ended, .conflict: true
            default: false
            }
        }
    }
}
