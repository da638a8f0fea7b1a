/// The work of a connection's thread: it connects, and executes what callers pass to it.
struct PostgresWorker: Sendable {
    private let shared: PostgresConnection.Shared
    private let setUp: [PostgresStatement]
    private let check: @Sendable ([PostgresRows]) throws(PostgresError) -> Void
    private let connect: @Sendable () throws(PostgresError) -> PostgresSession

    init(
        _ shared: PostgresConnection.Shared,
        setUp: [PostgresStatement],
        check: @escaping @Sendable ([PostgresRows]) throws(PostgresError) -> Void,
        connect: @escaping @Sendable () throws(PostgresError) -> PostgresSession,
    ) {
        self.shared = shared
        self.setUp = setUp
        self.check = check
        self.connect = connect
    }

    /// Runs until the connection is closed.
    func run() {
        defer { shared.ended() }
        var pause = shared.limits.firstPause
        while !shared.isClosing {
            do throws(PostgresError) {
                let session = try open()
                shared.connected()
                pause = shared.limits.firstPause
                // If the connection is lost, `serve` returns, and the loop connects again at once.
                guard serve(session) else { return }
            } catch {
                shared.lost(error)
                shared.pause(pause * Double.random(in: 0.5...1))
                pause = min(pause * 2, shared.limits.lastPause)
            }
        }
        shared.lost(PostgresError(.notConnected, "The connection was closed."))
    }

    private func open() throws(PostgresError) -> PostgresSession {
        let session = try connect()
        guard !setUp.isEmpty else { return session }
        guard let answers = session.exchange([setUp]).first else { return session }
        try check(try answers.get())
        return session
    }

    /// - Returns: true if a new connection is needed; false if the connection is being closed.
    private func serve(_ first: PostgresSession) -> Bool {
        var session = first
        while let work = shared.nextWork() {
            if !session.isAlive() {
                // The server closed the connection while it was idle. Nothing was sent yet, so a new connection can
                // do the work.
                do throws(PostgresError) {
                    session = try open()
                } catch {
                    for work in work { work.fail(PostgresError(.notConnected, error.message, state: error.state)) }
                    return true
                }
            }
            carryOut(work[...], session)
            guard session.isUsable, !session.isReadOnly || session.age < shared.limits.readOnlyPause else {
                return true
            }
        }
        return false
    }

    /// Executes the work in its order.
    private func carryOut(_ work: ArraySlice<PostgresWork>, _ session: PostgresSession) {
        var rest = work
        while let next = rest.first {
            guard session.isUsable else {
                for work in rest { work.fail(PostgresError(.notConnected, "The connection to the server was lost.")) }
                return
            }
            guard case .transaction(let body, let failed) = next else {
                rest = rest.dropFirst(pipeline(rest, session))
                continue
            }
            transact(session, body, failed)
            rest = rest.dropFirst()
        }
    }

    /// Sends the groups of statements that come before the next transaction.
    /// - Returns: How many groups were sent.
    private func pipeline(_ work: ArraySlice<PostgresWork>, _ session: PostgresSession) -> Int {
        var groups: [[PostgresStatement]] = []
        var finish: [@Sendable (Result<[PostgresRows], PostgresError>) -> Void] = []
        for case .statements(let statements, let finished) in work.prefix(while: \.isStatements) {
            groups.append(statements)
            finish.append(finished)
        }
        for (finish, result) in zip(finish, session.exchange(groups)) { finish(result) }
        return groups.count
    }

    private func transact(
        _ session: PostgresSession,
        _ body: (PostgresSession) throws(PostgresError) -> @Sendable (Result<Void, PostgresError>) -> Void,
        _ failed: (PostgresError) -> Void,
    ) {
        let transaction = PostgresTransaction(session)
        do throws(PostgresError) {
            try transaction.execute("BEGIN")
            let finish = try body(session)
            do throws(PostgresError) {
                try transaction.execute("COMMIT")
                finish(.success(()))
            } catch {
                finish(.failure(error))
            }
        } catch {
            if session.isUsable { _ = try? transaction.execute("ROLLBACK") }
            // Nothing was committed, because COMMIT was not sent yet.
            failed(error.kind == .connectionLost ? PostgresError(.notConnected, error.message) : error)
        }
    }
}

extension PostgresWork {
    fileprivate var isStatements: Bool {
        if case .statements = self { true } else { false }
    }
}
