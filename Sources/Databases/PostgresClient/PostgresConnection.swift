import Dispatch
import Foundation
import Synchronization

/// A connection to PostgreSQL with a thread of its own. Callers do not block: they pass statements to the thread. The
/// thread sends all waiting statements together, in pipeline mode.
///
/// If the connection is lost, the thread connects again. Until then, statements fail at once.
package final class PostgresConnection: Sendable {
    private let shared: Shared

    /// Starts the thread, which then connects.
    /// - Parameters:
    ///   - location: the address of the database.
    ///   - name: the name that the server's views show for the connection (`application_name`).
    ///   - setUp: the first statements of each connection; if one fails, the connection is not used.
    ///   - check: checks the answers to `setUp`, and throws if the connection must not be used.
    package init(
        _ location: PostgresLocation,
        name: String,
        limits: PostgresLimits = PostgresLimits(),
        setUp: [PostgresStatement] = [],
        check: @escaping @Sendable ([PostgresRows]) throws(PostgresError) -> Void = { _ in },
    ) {
        let shared = Shared(limits: limits)
        self.shared = shared
        let worker = PostgresWorker(
            shared, setUp: setUp, check: check
        ) { () throws(PostgresError) in
            try PostgresSession(location, timeLimit: limits.timeLimit, name: name)
        }
        let thread = Thread { worker.run() }
        thread.name = name
        thread.start()
    }

    deinit { shared.close() }

    /// Executes statements as one transaction. All are sent at once, so none can use the answer to another.
    /// - Returns: the statements' answers, after the commit.
    package func execute(_ statements: [PostgresStatement]) async throws(PostgresError) -> [PostgresRows] {
        let result: Result<[PostgresRows], PostgresError> = await withCheckedContinuation { continuation in
            shared.submit(.statements(statements) { continuation.resume(returning: $0) })
        }
        return try result.get()
    }

    /// Executes one statement.
    package func execute(
        _ sql: StaticString,
        _ values: [PostgresValue] = [],
    ) async throws(PostgresError) -> PostgresRows {
        guard let rows = try await execute([PostgresStatement(sql, values)]).first else {
            throw PostgresError(.unexpectedAnswer, "The server did not answer a statement.")
        }
        return rows
    }

    /// Runs `body` in a transaction, on the connection's thread. It is rolled back if `body` throws.
    package func transaction<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresTransaction) throws(PostgresError) -> Value,
    ) async throws(PostgresError) -> Value {
        let result: Result<Value, PostgresError> = await withCheckedContinuation { continuation in
            shared.submit(
                .transaction { session throws(PostgresError) in
                    let value = try body(PostgresTransaction(session))
                    return { continuation.resume(returning: $0.map { value }) }
                } failed: {
                    continuation.resume(returning: .failure($0))
                })
        }
        return try result.get()
    }

    /// Since when the thread has been working on what it took last; nil if it waits for work or has no connection.
    package var busySince: ContinuousClock.Instant? { shared.state.withLock { $0.busySince } }

    /// Why there is no connection; nil if there is one, or if its loss was not noticed yet.
    package var trouble: PostgresError? { shared.state.withLock { $0.away } }

    /// The number of groups of statements and of transactions that the thread has not taken yet.
    package var waiting: Int { shared.state.withLock { $0.waiting.count } }

    /// Completes the waiting work, and then closes the connection. Later statements fail.
    package func close() async {
        await withCheckedContinuation { continuation in shared.close { continuation.resume() } }
    }
}

package struct PostgresLimits: Sendable {
    /// How long the server may take to answer. It is longer than the longest pause for a checkpoint or a failover,
    /// and shorter than the time that providers wait for an answer.
    package var timeLimit = Duration.seconds(10)
    /// The largest number of groups of statements that may wait for one connection. If more wait, the server is too
    /// slow. The service then rejects requests instead of collecting requests that will time out.
    package var maximumWaiting = 16_384
    /// The largest total size of the parameters of waiting statements. A batch of full notifications has 2 MB, so the
    /// number of groups alone would not limit the memory. A single waiting group may be larger.
    package var maximumWaitingBytes = 64 << 20
    /// The largest number of groups of statements that are sent together.
    package var maximumPipelined = 64
    /// When the groups that will be sent together have this many bytes, no further group is added. All groups that are
    /// sent together have to be answered within ``timeLimit``.
    package var maximumPipelinedBytes = 4 << 20
    /// While the server is read-only, a new connection is made at most this often.
    package var readOnlyPause = Duration.seconds(1)
    /// The pause between two attempts to connect grows from this value to the next.
    package var firstPause = Duration.milliseconds(50)
    package var lastPause = Duration.seconds(2)

    package init() {}
}

/// Work for a connection's thread.
enum PostgresWork: Sendable {
    case statements([PostgresStatement], finish: @Sendable (Result<[PostgresRows], PostgresError>) -> Void)
    /// The body returns a closure, which the thread calls with the result of the commit.
    case transaction(
        _ body: @Sendable (PostgresSession) throws(PostgresError) -> @Sendable (Result<Void, PostgresError>) -> Void,
        failed: @Sendable (PostgresError) -> Void)

    /// The size of the parameters in bytes; 0 for a transaction, because its parameters are not known before it runs.
    var byteCount: Int {
        switch self {
        case .statements(let statements, _): statements.reduce(0) { $0 + $1.byteCount }
        case .transaction: 0
        }
    }

    func fail(_ error: PostgresError) {
        switch self {
        case .statements(_, let finish): finish(.failure(error))
        case .transaction(_, let failed): failed(error)
        }
    }
}

extension PostgresConnection {
    /// The state that callers and the thread share.
    final class Shared: Sendable {
        struct State {
            var waiting = WaitingWork()
            /// Why there is no connection. Nil at the start, until the first attempt has succeeded or failed.
            var away: PostgresError?
            /// Since when the thread has been working on what it took last.
            var busySince: ContinuousClock.Instant?
            var isClosing = false
            var isThreadWaiting = false
            var isThreadGone = false
            var closed: [@Sendable () -> Void] = []
        }

        let limits: PostgresLimits
        let state = Mutex(State())
        private let wake = DispatchSemaphore(value: 0)

        init(limits: PostgresLimits) { self.limits = limits }

        func submit(_ work: PostgresWork) {
            let (refusal, wakes) = state.withLock { state -> (PostgresError?, Bool) in
                if state.isClosing { return (PostgresError(.notConnected, "The connection was closed."), false) }
                if let away = state.away { return (away, false) }
                guard state.waiting.append(work, within: limits) else {
                    return (PostgresError(.busy, "Too many statements wait for the PostgreSQL server."), false)
                }
                return (nil, state.wakeThread())
            }
            if wakes { wake.signal() }
            if let refusal { work.fail(refusal) }
        }

        func close(_ closed: @escaping @Sendable () -> Void = {}) {
            let (isGone, wakes) = state.withLock { state in
                state.isClosing = true
                if !state.isThreadGone { state.closed.append(closed) }
                return (state.isThreadGone, state.wakeThread())
            }
            if wakes { wake.signal() }
            if isGone { closed() }
        }

        // MARK: Called by the thread

        /// Waits until there is work.
        /// - Returns: The work to send together; nil if the connection is being closed and no work is left.
        func nextWork() -> [PostgresWork]? {
            while true {
                let next = state.withLock { state -> [PostgresWork]?? in
                    let work = state.waiting.removeFirst(within: limits)
                    state.busySince = work.isEmpty ? nil : .now
                    if !work.isEmpty { return .some(work) }
                    if state.isClosing { return .some(nil) }
                    state.isThreadWaiting = true
                    return nil
                }
                if let next { return next }
                wake.wait()
            }
        }

        /// Waits for a time, or until the connection is being closed.
        func pause(_ duration: Duration) {
            let isClosing = state.withLock { state in
                state.isThreadWaiting = !state.isClosing
                return state.isClosing
            }
            guard !isClosing else { return }
            let nanoseconds = Int(clamping: duration.attoseconds / 1_000_000_000)
            if wake.wait(timeout: .now() + .nanoseconds(nanoseconds)) == .timedOut {
                // A signal that comes after the timeout only ends the next wait early. Its caller then checks again.
                state.withLock { $0.isThreadWaiting = false }
            }
        }

        var isClosing: Bool { state.withLock { $0.isClosing } }

        /// Makes all waiting work fail, because there is no connection.
        func lost(_ error: PostgresError) {
            let waiting = state.withLock { state in
                state.away = error
                state.busySince = nil
                return state.waiting.removeAll()
            }
            for work in waiting { work.fail(error) }
        }

        func connected() { state.withLock { $0.away = nil } }

        func ended() {
            let closed = state.withLock { state in
                state.isThreadGone = true
                return state.closed
            }
            for body in closed { body() }
        }
    }
}

extension PostgresConnection.Shared.State {
    /// - Returns: Whether the caller has to wake the thread.
    fileprivate mutating func wakeThread() -> Bool {
        defer { isThreadWaiting = false }
        return isThreadWaiting
    }
}
