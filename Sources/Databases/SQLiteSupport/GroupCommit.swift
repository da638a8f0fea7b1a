package import GRDB
package import Storage
import Synchronization

/// Collects the writes of several callers and commits them in one transaction.
///
/// One transaction with its fsync takes about as long for a thousand rows as for one. So writes that come during a
/// transaction wait, and all of them make the next transaction. Each caller gets its own answer, after the commit.
package final class GroupCommit: Sendable {
    /// The largest number of items that wait or are being written. The writer needs about a second for them, so no
    /// request waits longer. With payloads of 5 KiB they take 80 MiB.
    package static let defaultMaximumPendingItems = 16_384

    /// The largest number of pages of 4 KiB that a transaction may write, by an estimate. Together with the pages that
    /// wait to be copied into the database it limits the write-ahead log. About 300 notifications fit.
    package static let maximumPages = 600
    /// The estimated pages of an item that is not a large notification: one page of a table and one of an index.
    package static let pagesPerItem = 2

    private let connections: any DatabaseWriter
    private let maximumPendingItems: Int
    private let files: DatabaseFiles?
    private let ended: @Sendable () -> Void
    private let maximumLogBytes: Int
    private let state: Mutex<State>

    private struct State {
        var waiting: [Job] = []
        var pendingItems = 0
        /// Whether a call of ``writeWaiting(_:)`` is scheduled or running. It takes waiting writes.
        var isWriting = false
        var isClosed = false
        /// The size of the log, in bytes, above which readers have to wait until it was cut.
        var logLimit: Int
        /// Callers of ``close()`` that wait for the last write to end.
        var closing: [CheckedContinuation<Void, Never>] = []
        var statistics = Statistics()
    }

    /// The number of commits since the store was opened.
    package struct Statistics: Sendable {
        package var transactions = 0
        package var items = 0
    }

    /// The write of one caller.
    private struct Job: Sendable {
        let items: Int
        let pages: Int
        /// Whether the transaction is copied into the database file before the answers.
        let isLasting: Bool
        /// Writes, and returns a closure. After the commit, the closure publishes the result and answers the caller.
        let run: @Sendable (Database) throws(SQLiteFailure) -> @Sendable () -> Void
        let fail: @Sendable (StoreError) -> Void
    }

    /// - Parameters:
    ///   - maximumLogBytes: the size of the write-ahead log above which readers have to wait until it was cut.
    ///   - files: the database's files; nil if it is in memory. If somebody has removed them, nothing can be stored,
    ///     although SQLite does not notice.
    ///   - ended: called on the writer's thread at the end of each transaction, even after a rollback. After a
    ///     commit, the results were published before this call.
    package init(
        _ connections: any DatabaseWriter,
        maximumPendingItems: Int = GroupCommit.defaultMaximumPendingItems,
        maximumLogBytes: Int,
        files: DatabaseFiles?,
        ended: @escaping @Sendable () -> Void = {},
    ) {
        self.connections = connections
        self.files = files
        self.maximumPendingItems = maximumPendingItems
        self.maximumLogBytes = maximumLogBytes
        self.ended = ended
        state = Mutex(State(logLimit: maximumLogBytes))
    }

    package var statistics: Statistics { state.withLock { $0.statistics } }
    /// The number of items that wait or are being written.
    package var pendingItems: Int { state.withLock { $0.pendingItems } }

    /// Runs `body` in a transaction, after everything that was submitted before.
    ///
    /// - Parameters:
    ///   - items: the number of items to write.
    ///   - isLasting: whether the transaction is copied into the database file before any caller is answered. If
    ///     false, it may be only in the write-ahead log by then.
    ///   - undoable: whether to undo the changes of `body` if it throws, and to continue the transaction.
    ///   - body: writes the first `accepted` items, which are those that there is room for. Called on the writer's
    ///     thread, and again if its transaction was rolled back.
    ///   - committed: publishes what was written. It is called in the order of the calls, before any caller is
    ///     answered.
    /// - Returns: the result of `committed`.
    package func write<Written: Sendable, Answer: Sendable>(
        items: Int = 1,
        isLasting: Bool = false,
        undoable: Bool,
        _ body: @escaping @Sendable (_ database: Database, _ accepted: Int) throws(SQLiteFailure) -> Written,
        committed: @escaping @Sendable (Written) -> Answer,
    ) async -> Result<Answer, StoreError> {
        await withCheckedContinuation { continuation in
            hand(
                items: items, pages: items * Self.pagesPerItem, isLasting: isLasting, undoable: undoable, body,
                committed: committed
            ) { continuation.resume(returning: $0) }
        }
    }

    /// Adds a write and returns without waiting. The writes of one caller are done in their order.
    /// - Parameters:
    ///   - pages: an estimate of the most pages that the write changes.
    ///   - answer: called once, with the result.
    package func hand<Written: Sendable, Answer: Sendable>(
        items: Int,
        pages: Int,
        isLasting: Bool = false,
        undoable: Bool,
        _ body: @escaping @Sendable (_ database: Database, _ accepted: Int) throws(SQLiteFailure) -> Written,
        committed: @escaping @Sendable (Written) -> Answer,
        answer: @escaping @Sendable (Result<Answer, StoreError>) -> Void,
    ) {
        enqueue(items: items) { accepted in
            Job(
                items: accepted,
                pages: pages,
                isLasting: isLasting,
                run: { database throws(SQLiteFailure) in
                    do throws(SQLiteFailure) {
                        let written =
                            undoable
                            ? try Self.undoing(database) { database throws(SQLiteFailure) in
                                try body(database, accepted)
                            }
                            : try body(database, accepted)
                        return { answer(.success(committed(written))) }
                    } catch  where !error.endsTransaction {
                        return { answer(.failure(error.storeError)) }
                    }
                },
                fail: { answer(.failure($0)) },
            )
        } refuse: { error in
            answer(.failure(error))
        }
    }

    /// Accepts no more writes, and returns when all accepted ones have been answered.
    package func close() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                state.isClosed = true
                if state.isWriting { state.closing.append(continuation) }
                return !state.isWriting
            }
            if isIdle { continuation.resume() }
        }
    }

    // MARK: The queue

    private func enqueue(items: Int, job: (_ accepted: Int) -> Job, refuse: (StoreError) -> Void) {
        enum Decision {
            case refused(StoreError)
            case accepted(startsWriter: Bool)
        }
        let decision: Decision = state.withLock { state in
            guard !state.isClosed else { return .refused(.closed) }
            let accepted = min(items, maximumPendingItems - state.pendingItems)
            guard accepted > 0 else { return .refused(.busy) }
            state.pendingItems += accepted
            state.waiting.append(job(accepted))
            defer { state.isWriting = true }
            return .accepted(startsWriter: !state.isWriting)
        }
        switch decision {
        case .refused(let error):
            refuse(error)
        case .accepted(startsWriter: true):
            startWriter()
        case .accepted(startsWriter: false):
            break
        }
    }

    private func startWriter() {
        connections.asyncWriteWithoutTransaction { [self] database in writeWaiting(database) }
    }

    /// Takes the waiting writes that fit into one transaction; returns nil if none wait, which ends the run.
    private func nextGroup() -> [Job]? {
        let (group, closing) = state.withLock { state -> ([Job], [CheckedContinuation<Void, Never>]) in
            var (count, pages) = (0, 0)
            for job in state.waiting {
                pages += job.pages
                guard count == 0 || pages <= Self.maximumPages else { break }
                count += 1
            }
            let group = Array(state.waiting.prefix(count))
            state.waiting.removeFirst(count)
            guard group.isEmpty else { return (group, []) }
            state.isWriting = false
            defer { state.closing = [] }
            return (group, state.closing)
        }
        for continuation in closing { continuation.resume() }
        return group.isEmpty ? nil : group
    }

    /// Frees the room of these writes. Do this before the answers, so that a caller can submit its next batch at
    /// once.
    private func leave(_ jobs: some Collection<Job>, committed: Bool) {
        let items = jobs.reduce(0) { $0 + $1.items }
        state.withLock { state in
            state.pendingItems -= items
            if committed {
                state.statistics.transactions += 1
                state.statistics.items += items
            }
        }
    }

    // MARK: On the writer's thread

    private func writeWaiting(_ database: Database) {
        guard let group = nextGroup() else { return }
        do throws(CommitFailure) {
            try commit(group, on: database)
        } catch  where error.isFull && group.count > 1 {
            // Commit each write in its own transaction: a removal needs no room on the disk, and must not fail
            // because of writes that do.
            for index in group.indices { commitAlone(group[index...index], on: database) }
        } catch {
            leave(group, committed: false)
            for job in group { job.fail(error.storeError) }
        }
        // Not in a loop: a database in memory has one connection, and readers use it between two transactions.
        startWriter()
    }

    private func commitAlone(_ job: ArraySlice<Job>, on database: Database) {
        do throws(CommitFailure) {
            try commit(job, on: database)
        } catch {
            leave(job, committed: false)
            for job in job { job.fail(error.storeError) }
        }
    }

    /// Runs the jobs in one transaction, commits it and answers. If it throws, no caller has been answered.
    private func commit(_ jobs: some Collection<Job>, on database: Database) throws(CommitFailure) {
        defer { ended() }
        try checkTrouble()
        var answers: [@Sendable () -> Void] = []
        answers.reserveCapacity(jobs.count)
        do throws(SQLiteFailure) {
            // A transaction is still open only if an earlier rollback failed.
            if database.isInsideTransaction { try database.perform { try $0.rollback() } }
            try database.perform { try $0.beginTransaction(.immediate) }
            for job in jobs { answers.append(try job.run(database)) }
        } catch {
            rollBack(database)
            throw CommitFailure(storeError: error.storeError, isFull: error.isFull)
        }
        do throws(SQLiteFailure) {
            try database.perform { try $0.commit() }
        } catch {
            rollBack(database)
            throw CommitFailure(
                storeError: error.provesCommitFailed ? error.storeError : error.doubtfulCommit,
                isFull: error.isFull,
            )
        }
        // If the files were deleted or moved meanwhile, the writes went into a file that nobody will ever open again.
        try checkTrouble()
        if jobs.contains(where: \.isLasting) {
            // Ignore a failure, because the log's contents are already on the disk. If a reader prevents this copy,
            // the next one copies them.
            _ = try? database.checkpoint(.full)
        }
        leave(jobs, committed: true)
        for answer in answers { answer() }
        boundLog(database)
    }

    /// Limits the size of the log. SQLite reuses the log from its beginning only if all of it was copied into the
    /// database and nobody reads it. If readers follow each other without a gap, the log would grow without limit. So
    /// above the limit, readers have to wait.
    private func boundLog(_ database: Database) {
        guard let bytes = files?.logBytes, bytes > state.withLock({ $0.logLimit }) else { return }
        let isCut = (try? database.checkpoint(.truncate)) != nil
        // Another program is reading, for example a person's `sqlite3`. Raise the limit; otherwise each transaction
        // would wait for that program.
        state.withLock { $0.logLimit = isCut ? maximumLogBytes : bytes * 2 }
    }

    private func checkTrouble() throws(CommitFailure) {
        if let error = files?.trouble { throw CommitFailure(storeError: error, isFull: false) }
    }

    private struct CommitFailure: Error {
        let storeError: StoreError
        let isFull: Bool
    }

    private func rollBack(_ database: Database) {
        // Ignore this error: the error that caused the rollback is reported, and the next transaction tries the
        // rollback again.
        try? database.rollback()
    }

    /// Runs `body`. If it throws, its changes are undone and the transaction continues.
    private static func undoing<Value>(
        _ database: Database,
        _ body: (Database) throws(SQLiteFailure) -> Value,
    ) throws(SQLiteFailure) -> Value {
        try database.perform { try $0.execute(sql: "SAVEPOINT job") }
        do throws(SQLiteFailure) {
            let value = try body(database)
            try database.perform { try $0.execute(sql: "RELEASE job") }
            return value
        } catch  where !error.endsTransaction {
            try database.perform { try $0.execute(sql: "ROLLBACK TO job; RELEASE job") }
            throw error
        }
    }
}

extension StoreError {
    package static let closed = StoreError(.unavailable, "The store is closed: start the service again.")
    package static let busy = StoreError(
        .unavailable,
        "Too many writes wait for the disk: try again after a delay.",
    )
}
