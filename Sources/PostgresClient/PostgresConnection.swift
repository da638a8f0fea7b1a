import Dispatch
import Foundation
import Synchronization

/// A connection to PostgreSQL with a thread of its own. Callers do not block: they give statements to the thread, which
/// sends all that wait together, in pipeline mode.
///
/// After a loss the thread connects again by itself. Until then, statements fail at once.
package final class PostgresConnection: Sendable {
    private let shared: Shared

    /// Starts the thread, which connects.
    /// - Parameters:
    ///   - location: where the database is.
    ///   - name: the name that the server's views show for the connection (`application_name`).
    ///   - setUp: the first statements of each connection; if one fails, the connection is not used.
    ///   - check: decides by the answers to `setUp` whether the connection may be used.
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

    /// Executes statements as one transaction. None of them can depend on the answer to another.
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

    /// Why there is no connection at present; nil if there is one, or if its loss was not noticed yet.
    package var trouble: PostgresError? { shared.state.withLock { $0.away } }

    /// Completes the waiting work and closes the connection. Later statements fail.
    package func close() async {
        await withCheckedContinuation { continuation in shared.close { continuation.resume() } }
    }
}

package struct PostgresLimits: Sendable {
    /// The time within which the server has to answer: longer than the longest write of a checkpoint or the pause of a
    /// failover, and shorter than providers wait for an answer.
    package var timeLimit = Duration.seconds(10)
    /// The largest number of groups of statements that wait for one connection. More mean that the server cannot keep
    /// up, so the service refuses instead of collecting requests that time out.
    package var maximumWaiting = 16_384
    /// The largest number of bytes that the parameters of waiting statements have. A batch of full notifications has
    /// 2 MB, so the number of groups alone does not limit the memory. A group that waits alone may have more.
    package var maximumWaitingBytes = 64 << 20
    /// The largest number of groups of statements that are sent together.
    package var maximumPipelined = 64
    /// No further group is sent together with others that have this many bytes: all of them have to be answered within
    /// ``timeLimit``.
    package var maximumPipelinedBytes = 4 << 20
    /// The pauses between attempts to connect grow from the first to the last.
    package var firstPause = Duration.milliseconds(50)
    package var lastPause = Duration.seconds(2)

    package init() {}
}

/// A piece of work for a connection's thread.
enum PostgresWork: Sendable {
    case statements([PostgresStatement], finish: @Sendable (Result<[PostgresRows], PostgresError>) -> Void)
    /// The body returns what the thread calls with the result of the commit.
    case transaction(
        _ body: @Sendable (PostgresSession) throws(PostgresError) -> @Sendable (Result<Void, PostgresError>) -> Void,
        failed: @Sendable (PostgresError) -> Void)

    /// The size of its parameters; 0 for a transaction, whose parameters are not known before it runs.
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
    /// What callers and the thread share.
    final class Shared: Sendable {
        struct State {
            var waiting = WaitingWork()
            /// Why there is no connection. Nil at the start: the first attempt decides.
            var away: PostgresError?
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

        // MARK: For the thread

        /// Waits until there is work.
        /// - Returns: The work that is to be sent together; nil if the connection is being closed and nothing is left.
        func take() -> [PostgresWork]? {
            while true {
                let taken = state.withLock { state -> [PostgresWork]?? in
                    let taken = state.waiting.take(within: limits)
                    if !taken.isEmpty { return .some(taken) }
                    if state.isClosing { return .some(nil) }
                    state.isThreadWaiting = true
                    return nil
                }
                if let taken { return taken }
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
                // A signal that comes after the timeout ends the next wait early. That wait's caller then checks again.
                state.withLock { $0.isThreadWaiting = false }
            }
        }

        var isClosing: Bool { state.withLock { $0.isClosing } }

        /// There is no connection: whatever waits fails.
        func lost(_ error: PostgresError) {
            let waiting = state.withLock { state in
                state.away = error
                return state.waiting.takeAll()
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
    /// - Returns: Whether the thread has to be woken.
    fileprivate mutating func wakeThread() -> Bool {
        defer { isThreadWaiting = false }
        return isThreadWaiting
    }
}
