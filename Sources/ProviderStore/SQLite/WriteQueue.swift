import Delivery
import GRDB
import Synchronization

/// Commits the changes of concurrent callers in one transaction: an fsync takes about as long for a thousand rows as
/// for one.
///
/// Changes that arrive during a transaction wait for the next one. Each caller is answered after the commit. If a
/// change fails, only this change is undone.
final class WriteQueue: Sendable {
    /// The largest number of waiting changes, which is about a second of work. Further callers get an error and can try
    /// again.
    static let maximumWaiting = 10_000
    /// The largest number of changes in one transaction. It limits how long the first caller waits.
    static let maximumTogether = 500

    private struct Job: Sendable {
        /// Runs the change in a savepoint. Returns a function that answers the caller after the commit. Throws only
        /// errors that end the whole transaction.
        let run: @Sendable (Database) throws -> @Sendable () -> Void
        let fail: @Sendable (any Error) -> Void
    }

    private struct State {
        var waiting: [Job] = []
        var isWriting = false
        var isClosed = false
    }

    private let pool: DatabasePool
    private let state = Mutex(State())

    init(_ pool: DatabasePool) { self.pool = pool }

    /// Runs a change in a transaction, after all earlier changes.
    /// - Throws: the error of `body`, or a ``StoreError``.
    func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let job = Job(
                run: { database in
                    do {
                        var result: Value?
                        try database.inSavepoint {
                            result = try body(database)
                            return .commit
                        }
                        guard let value = result else { throw StoreError.closed }
                        return { continuation.resume(returning: value) }
                    } catch let error as DatabaseError where error.endsTransaction {
                        throw error
                    } catch {
                        let answer = StoreError.of(error)
                        return { continuation.resume(throwing: answer) }
                    }
                },
                fail: { continuation.resume(throwing: StoreError.of($0)) })
            hand(job)
        }
    }

    private func hand(_ job: Job) {
        let (refusal, begins): (StoreError?, Bool) = state.withLock { state in
            guard !state.isClosed else { return (.closed, false) }
            guard state.waiting.count < Self.maximumWaiting else { return (.busy, false) }
            state.waiting.append(job)
            defer { state.isWriting = true }
            return (nil, !state.isWriting)
        }
        if let refusal { return job.fail(refusal) }
        guard begins else { return }
        pool.asyncWriteWithoutTransaction { [self] database in
            while let group = nextGroup() { commit(group, on: database) }
        }
    }

    /// Takes the changes of the next transaction; nil if no change waits.
    private func nextGroup() -> ArraySlice<Job>? {
        state.withLock { state in
            let group = state.waiting.prefix(Self.maximumTogether)
            state.waiting.removeFirst(group.count)
            if group.isEmpty { state.isWriting = false }
            return group.isEmpty ? nil : group
        }
    }

    private func commit(_ group: ArraySlice<Job>, on database: Database) {
        do {
            var answers: [@Sendable () -> Void] = []
            try database.inTransaction(.immediate) {
                answers = try group.map { try $0.run(database) }
                return .commit
            }
            for answer in answers { answer() }
        } catch {
            for job in group { job.fail(error) }
        }
    }

    /// Rejects further changes.
    func close() { state.withLock { $0.isClosed = true } }
}

extension DatabaseError {
    /// Whether the error ends the whole transaction, and not only the change that caused it.
    fileprivate var endsTransaction: Bool {
        switch resultCode {
        case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG, .SQLITE_RANGE: false
        default: true
        }
    }
}

extension StoreError {
    static let closed = StoreError(.unavailable, "The store is closed: start the server again.")
    static let busy = StoreError(.unavailable, "Too many changes wait for the disk: try again after a delay.")

    /// Converts an error of the database into a ``StoreError``. Returns other errors unchanged.
    static func of(_ error: any Error) -> any Error {
        guard let error = error as? DatabaseError else { return error }
        return StoreError(error)
    }

    init(_ error: DatabaseError) {
        let summary = "SQLite error \(error.extendedResultCode.rawValue), \(error.message ?? "no message")"
        switch error.resultCode {
        case .SQLITE_FULL:
            self.init(.unavailable, "The disk is full: free some space, then storing works again.")
        case .SQLITE_IOERR:
            self.init(.unavailable, "The disk failed (\(summary)): check the disk.")
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self.init(.unavailable, "Another program holds the database locked: end that program's transaction.")
        case .SQLITE_CORRUPT, .SQLITE_NOTADB:
            self.init(.unreadable, "The database is damaged (\(summary)): stop the server and restore a backup.")
        case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH, .SQLITE_CANTOPEN:
            self.init(.unavailable, "The database cannot be written (\(summary)): check its folder's permissions.")
        default:
            self.init(.unavailable, "The database refused the change (\(summary)).")
        }
    }
}
