import Delivery
import GRDB
import Synchronization

/// Gathers what concurrent callers want written and commits it together.
///
/// One transaction with its fsync takes about as long for a thousand rows as for one. So what is handed in while a
/// transaction is under way waits, and all of it makes the next transaction. Everybody has an answer of their own,
/// given after the commit.
final class GroupCommit: Sendable {
    /// How many items may be waiting or being written. The writer gets through that many in about a second, which is
    /// as long as a request can wait; with payloads of 5 KiB it is 80 MiB.
    static let defaultMaximumPendingItems = 16_384

    /// How many pages of 4 KiB a transaction may write, as far as that can be told beforehand: together with what waits to
    /// be copied into the database it bounds the write-ahead log. Some 300 notifications have room.
    static let maximumPages = 600
    /// What an item writes that is no large notification: a page of a table and one of an index.
    static let pagesPerItem = 2

    private let pool: DatabasePool
    private let maximumPendingItems: Int
    private let files: DatabaseFiles
    private let ended: @Sendable () -> Void
    private let state = Mutex(State())

    private struct State {
        var waiting: [Job] = []
        var pendingItems = 0
        /// A run of ``writeWaiting(_:)`` is scheduled or under way and will take what is waiting.
        var isWriting = false
        var isClosed = false
        /// Above it the log is cut off.
        var logLimit = DatabaseOpening.maximumLogBytes
        /// Wait for the run to end.
        var closing: [CheckedContinuation<Void, Never>] = []
        var statistics = Statistics()
    }

    /// What has been committed since the store was opened.
    struct Statistics: Sendable {
        var transactions = 0
        var items = 0
    }

    /// What one caller wants written.
    private struct Job: Sendable {
        let items: Int
        let pages: Int
        /// Whether it is copied into the database before anybody is answered.
        let isLasting: Bool
        /// Does the writing. What it returns makes it known and answers the caller, once the transaction is committed.
        let run: @Sendable (Database) throws(SQLiteFailure) -> @Sendable () -> Void
        let fail: @Sendable (StoreError) -> Void
    }

    /// - Parameters:
    ///   - files: the database's; without them nothing can be stored, although SQLite does not notice.
    ///   - ended: called on the writer's thread at the end of each transaction, also of one that was rolled
    ///     back; what it has written was made known before.
    init(
        pool: DatabasePool,
        maximumPendingItems: Int = GroupCommit.defaultMaximumPendingItems,
        files: DatabaseFiles,
        ended: @escaping @Sendable () -> Void = {},
    ) {
        self.pool = pool
        self.files = files
        self.maximumPendingItems = maximumPendingItems
        self.ended = ended
    }

    var statistics: Statistics { state.withLock { $0.statistics } }
    /// Waiting or being written.
    var pendingItems: Int { state.withLock { $0.pendingItems } }

    /// Has `body` run within a transaction, after all that was handed in before.
    ///
    /// - Parameters:
    ///   - items: how many items are to be written.
    ///   - isLasting: whether it is to be in the database's own file before anybody is answered, and not in the log alone.
    ///   - undoable: whether what `body` did before it threw must be undone where the transaction goes on.
    ///   - body: does it on the writer's thread, for the first `accepted` items, as many as there is room for. It may
    ///     be called again after its transaction was rolled back.
    ///   - committed: makes known what was written. It is called in the order in which the calls came, before anyone
    ///     is answered.
    /// - Returns: What `committed` returned.
    func write<Written: Sendable, Answer: Sendable>(
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

    /// The same without waiting: what one caller hands in one after the other is written in that order.
    /// - Parameters:
    ///   - pages: how many pages it writes at most, about.
    ///   - answer: called once.
    func hand<Written: Sendable, Answer: Sendable>(
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

    /// Takes no more from now on and answers once all that was taken has been answered.
    func close() async {
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
            case taken(startsWriter: Bool)
        }
        let decision: Decision = state.withLock { state in
            guard !state.isClosed else { return .refused(.closed) }
            let accepted = min(items, maximumPendingItems - state.pendingItems)
            guard accepted > 0 else { return .refused(.busy) }
            state.pendingItems += accepted
            state.waiting.append(job(accepted))
            defer { state.isWriting = true }
            return .taken(startsWriter: !state.isWriting)
        }
        switch decision {
        case .refused(let error):
            refuse(error)
        case .taken(startsWriter: true):
            pool.asyncWriteWithoutTransaction { [self] database in writeWaiting(database) }
        case .taken(startsWriter: false):
            break
        }
    }

    /// The next group: what is waiting, as far as one transaction may take; nil where nothing is, which ends the run.
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

    /// Makes room before the answers are given, so that a caller can hand in the next batch right away.
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
        while let group = nextGroup() {
            do throws(CommitFailure) {
                try commit(group, on: database)
            } catch  where error.isFull && group.count > 1 {
                // What takes no room, a removal for example, must not fail for what does.
                for index in group.indices { commitAlone(group[index...index], on: database) }
            } catch {
                leave(group, committed: false)
                for job in group { job.fail(error.storeError) }
            }
        }
    }

    private func commitAlone(_ job: ArraySlice<Job>, on database: Database) {
        do throws(CommitFailure) {
            try commit(job, on: database)
        } catch {
            leave(job, committed: false)
            for job in job { job.fail(error.storeError) }
        }
    }

    /// Runs the jobs in one transaction, commits it and answers; where it throws, nobody has been answered.
    private func commit(_ jobs: some Collection<Job>, on database: Database) throws(CommitFailure) {
        defer { ended() }
        try checkTrouble()
        var answers: [@Sendable () -> Void] = []
        answers.reserveCapacity(jobs.count)
        do throws(SQLiteFailure) {
            // Only where a rollback itself failed before is there still a transaction.
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
        // It came into being meanwhile: what was written now is in a file that nobody opens again.
        try checkTrouble()
        if jobs.contains(where: \.isLasting) {
            // What the log has is on the disk already; a reader in the way delays the copy to the next one.
            _ = try? database.checkpoint(.full)
        }
        leave(jobs, committed: true)
        for answer in answers { answer() }
        boundLog(database)
    }

    /// SQLite begins the log anew when all of it is in the database and nobody reads it. Readers that follow each other
    /// without a gap would let it grow without end, so beyond its limit they have to wait.
    private func boundLog(_ database: Database) {
        let bytes = files.logBytes
        guard bytes > state.withLock({ $0.logLimit }) else { return }
        let isCut = (try? database.checkpoint(.truncate)) != nil
        // Somebody else reads, a person with `sqlite3` for one: waiting for that after each transaction would be a standstill.
        state.withLock { $0.logLimit = isCut ? DatabaseOpening.maximumLogBytes : bytes * 2 }
    }

    private func checkTrouble() throws(CommitFailure) {
        if let error = files.trouble { throw CommitFailure(storeError: error, isFull: false) }
    }

    private struct CommitFailure: Error {
        let storeError: StoreError
        let isFull: Bool
    }

    private func rollBack(_ database: Database) {
        // Thrown away: what made it necessary is what is reported, and the next transaction tries again.
        try? database.rollback()
    }

    /// Runs `body` so that what it did is undone when it throws and the transaction goes on.
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
    static let closed = StoreError(.unavailable, "The store is closed: start the service again.")
    static let busy = StoreError(
        .unavailable,
        "Too much waits to be written to the disk: send again after a delay.",
    )
}
