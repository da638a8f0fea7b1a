import Synchronization

// What goes to the mailboxes, and what becomes of it there.
extension Delivery {
    /// What a shard wants stored.
    private struct Batch: Sendable {
        let shard: Shard
        let entries: [MailboxEntry]
    }

    /// Stores what waits in all shards. All that comes while the store is busy is its next batch: one transaction, one task
    /// and one wake-up for each connection are enough for all of it.
    func storeWhatWaits() {
        guard storingTurn.withLock({ $0.take() }) else { return }
        Task {
            while storingTurn.withLock({ $0.goOn() }) {
                let batches = shards.compactMap(nextBatch)
                guard !batches.isEmpty else { continue }
                stored(batches, await mailboxes.store(batches.flatMap(\.entries)))
            }
        }
    }

    private func nextBatch(of shard: Shard) -> Batch? {
        let (entries, actions) = shard.acceptances.withLock { acceptances in
            shard.performing.add(1, ordering: .relaxed)
            return acceptances.nextBatch()
        }
        defer { shard.performing.subtract(1, ordering: .releasing) }
        for action in actions { perform(action, nil) }
        return entries.isEmpty ? nil : Batch(shard: shard, entries: entries)
    }

    /// Tells the shards what the store said, and the providers once all shards know: each connection is woken once.
    private func stored(_ batches: [Batch], _ results: [Result<MailboxVersion, StoreError>]) {
        let now = clock.moment
        var results = results[...]
        var answers = GatheredAnswers()
        // What is not yet answered is not yet done.
        for batch in batches { batch.shard.performing.add(1, ordering: .relaxed) }
        for batch in batches {
            let batchResults = Array(results.prefix(batch.entries.count))
            results = results.dropFirst(batch.entries.count)
            if batchResults.contains(where: \.isUnknown) {
                finish(batch, batchResults)
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
        let (actions, hasBatch) = batch.shard.acceptances.withLock { acceptances in
            (acceptances.stored(results, now: now.uptime), acceptances.hasBatch)
        }
        for action in actions {
            if case .answer(let receiver, let ticket, let outcome) = action {
                answers.append((ticket, outcome), for: receiver)
            } else {
                perform(action, now)
            }
        }
        if hasBatch { storeWhatWaits() }
    }

    /// In a task of its own, since it may take as long as the disk is out of order.
    private func finish(_ batch: Batch, _ results: [Result<MailboxVersion, StoreError>]) {
        Task {
            let results = await settle(batch.entries, results)
            let now = clock.moment
            advance(batch.shard, now) { $0.stored(results, now: now.uptime) }
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
            for (index, result) in zip(doubtful, again) where result.isFinal {
                results[index] = result
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

    func remove(_ references: [MailboxReference]) {
        Task {
            // A removal that fails leaves a notification that was delivered: it is delivered again, which at least
            // once allows.
            _ = await mailboxes.remove(references)
        }
    }
}

extension Result<MailboxVersion, StoreError> {
    fileprivate var isUnknown: Bool {
        if case .failure(let error) = self { error.code == .unknown } else { false }
    }

    /// Whether it says what became of every attempt to store the same.
    fileprivate var isFinal: Bool {
        switch self {
        case .success: true
        case .failure(let error): if case .ended = error.code { true } else { false }
        }
    }
}
