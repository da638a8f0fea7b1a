import Synchronization

// What goes to the mailboxes, and what becomes of it there.
extension Delivery {
    func store(_ batch: StoreQueue.Batch) {
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
        let now = clock.moment
        var results = results[...]
        var answers = GatheredAnswers()
        // What is not yet answered is not yet done.
        for batch in batches { shards[batch.shard].performing.add(1, ordering: .relaxed) }
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

    /// In a task of its own, since it may take as long as the disk is out of order.
    private func finish(_ batch: StoreQueue.Batch, _ results: [Result<MailboxVersion, StoreError>]) {
        Task {
            let results = await settle(batch.entries, results)
            let now = clock.moment
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
