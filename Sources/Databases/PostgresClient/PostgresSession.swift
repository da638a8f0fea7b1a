import CPostgres

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// One libpq connection in pipeline mode. Only one thread uses it, and its calls block that thread. No pointer leaves
/// this class.
///
/// https://www.postgresql.org/docs/15/libpq-pipeline-mode.html
final class PostgresSession {
    private let connection: OpaquePointer
    private let secrets: [String]
    private let timeLimit: Duration
    /// The names of the prepared statements, by their SQL.
    private var prepared: [String: String] = [:]
    /// The number of names that were used. A name is never used again: if the server has refused a statement, the others
    /// that were prepared with it keep theirs.
    private var names = 0

    /// Whether the connection can still be used.
    private(set) var isUsable = true
    /// Whether the server has refused a change because it is read-only. A session keeps this state even if the server takes
    /// changes again, and another host may have become the primary.
    private(set) var isReadOnly = false
    private let opened = ContinuousClock.now

    /// How long the session has lasted.
    var age: Duration { opened.duration(to: .now) }

    /// Connects. If the location has several hosts, they are tried in turn, and its `target_session_attrs` says which
    /// to use.
    ///
    /// libpq does not try the next host if one accepts the connection and then closes it, as a TCP proxy does whose server
    /// is down. So each host is tried alone as well.
    init(_ location: PostgresLocation, timeLimit: Duration, name: String) throws(PostgresError) {
        secrets = location.secrets
        self.timeLimit = timeLimit
        var tried = try Self.connect(location, name)
        for host in location.singleHosts where PQstatus(tried) != CONNECTION_OK {
            let next: OpaquePointer
            do throws(PostgresError) {
                next = try Self.connect(location, name, host)
            } catch {
                PQfinish(tried)
                throw error
            }
            // The error of all hosts together says more than that of the last one.
            guard PQstatus(next) == CONNECTION_OK else {
                PQfinish(next)
                continue
            }
            PQfinish(tried)
            tried = next
        }
        connection = tried
        // libpq would write notices to standard error, between the log's lines: for example, that a table exists already.
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
        guard PQstatus(connection) == CONNECTION_OK else {
            throw PostgresError(.notConnected, Self.message(of: connection, without: secrets))
        }
        guard PQsetnonblocking(connection, 1) == 0, PQenterPipelineMode(connection) == 1 else {
            throw PostgresError(.notConnected, "libpq refused pipeline mode.")
        }
    }

    /// - Parameter host: options that replace those of the location.
    /// - Returns: A connection, which may have failed.
    private static func connect(
        _ location: PostgresLocation,
        _ name: String,
        _ host: [(name: String, value: String)] = [],
    ) throws(PostgresError) -> OpaquePointer {
        let options = Self.options(location, name) + host
        var keywords = options.map { strdup($0.name).map { UnsafePointer($0) } } + [nil]
        var values = options.map { strdup($0.value).map { UnsafePointer($0) } } + [nil]
        defer { for pointer in keywords + values { free(UnsafeMutablePointer(mutating: pointer)) } }
        guard let connection = PQconnectdbParams(&keywords, &values, 1) else {
            throw PostgresError(.notConnected, "There is no memory for a connection.")
        }
        return connection
    }

    /// The options of a connection. libpq reads the option `dbname` as a URL. Later options replace those in it.
    static func options(_ location: PostgresLocation, _ name: String) -> [(name: String, value: String)] {
        var options = [
            (name: "dbname", value: location.url), (name: "fallback_application_name", value: name),
            (name: "client_encoding", value: "UTF8"),
        ]
        // Limit the time for each host. Without this, a host that does not answer takes minutes.
        if !location.sets("connect_timeout") { options.append((name: "connect_timeout", value: "3")) }
        // If the server's machine does not acknowledge what was sent, the connection ends after these milliseconds.
        // This is less than the time limit for an answer: a machine that is gone is found sooner than one that is slow.
        if !location.sets("tcp_user_timeout") { options.append((name: "tcp_user_timeout", value: "5000")) }
        return options
    }

    deinit { PQfinish(connection) }

    /// Checks whether the server has closed the connection, before anything is sent on it.
    func isAlive() -> Bool {
        // A server that ends a connection sends the reason before the end of the stream, so read until the end.
        while isUsable, wait(for: Int16(POLLIN), milliseconds: 0) {
            isUsable = PQconsumeInput(connection) == 1 && PQstatus(connection) == CONNECTION_OK
        }
        return isUsable
    }

    /// Sends groups of statements together and reads the answers. Each group is one transaction.
    /// - Parameter limit: how long the server may take; nil for the session's limit.
    func exchange(
        _ groups: [[PostgresStatement]],
        within limit: Duration? = nil,
    ) -> [Result<[PostgresRows], PostgresError>] {
        let deadline = ContinuousClock.now.advanced(by: limit ?? timeLimit)
        do throws(PostgresError) {
            let refused = try prepare(groups, deadline)
            var ready: [Bool] = []
            for group in groups {
                let refusal = group.lazy.compactMap { refused[$0.sql] }.first
                ready.append(refusal == nil)
                guard refusal == nil else { continue }
                for statement in group { try send(statement) }
                try check(PQpipelineSync(connection))
            }
            return try receive(groups, ready: ready, refused, deadline)
        } catch {
            isUsable = false
            // It is unknown whether the server has committed these groups, because their answers were not read.
            return groups.map { _ in .failure(error) }
        }
    }

    private func receive(
        _ groups: [[PostgresStatement]],
        ready: [Bool],
        _ refused: [String: PostgresError],
        _ deadline: ContinuousClock.Instant,
    ) throws(PostgresError) -> [Result<[PostgresRows], PostgresError>] {
        var results: [Result<[PostgresRows], PostgresError>] = []
        for (group, isReady) in zip(groups, ready) {
            if !isReady, let refusal = group.lazy.compactMap({ refused[$0.sql] }).first {
                results.append(.failure(refusal))
                continue
            }
            do throws(PostgresError) {
                var rows: [PostgresRows] = []
                var failure: PostgresError?
                for _ in group {
                    switch try answer(deadline) {
                    case .success(let answer): rows.append(answer)
                    case .failure(let error): failure = failure ?? error
                    }
                }
                try synchronize(deadline)
                results.append(failure.map { .failure($0) } ?? .success(rows))
            } catch {
                // The groups before this one are committed nevertheless.
                isUsable = false
                return results + groups.dropFirst(results.count).map { _ in .failure(error) }
            }
        }
        return results
    }

    // MARK: Sending

    /// Prepares the statements that are used for the first time, in one round trip.
    /// - Returns: The statements that the server refused.
    private func prepare(
        _ groups: [[PostgresStatement]],
        _ deadline: ContinuousClock.Instant,
    ) throws(PostgresError) -> [String: PostgresError] {
        var sent: [(sql: String, name: String)] = []
        for statement in groups.lazy.joined() where statement.isPrepared && prepared[statement.sql] == nil {
            let name = "s\(names)"
            names += 1
            prepared[statement.sql] = name
            sent.append((statement.sql, name))
            let types = statement.values.map(\.typeID)
            // fits: the parameters of a statement of ours
            try check(PQsendPrepare(connection, name, statement.sql, Int32(types.count), types))
            // Send each in its own transaction, so that a refused statement does not make the others fail.
            try check(PQpipelineSync(connection))
        }
        var refused: [String: PostgresError] = [:]
        for (sql, _) in sent {
            if case .failure(let error) = try answer(deadline) { refused[sql] = error }
            try synchronize(deadline)
        }
        for sql in refused.keys { prepared[sql] = nil }
        return refused
    }

    private func send(_ statement: PostgresStatement) throws(PostgresError) {
        let parameters = statement.values.map(\.bytes)
        let lengths = parameters.map { Int32(clamping: $0?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: parameters.count)
        // Put all parameters into one block of memory. The pointers refer to it.
        var block: [UInt8] = []
        var offsets: [Int?] = []
        for parameter in parameters {
            offsets.append(parameter.map { _ in block.count })
            // An empty value needs a pointer too, because a null pointer means NULL.
            if let parameter { block.append(contentsOf: parameter.isEmpty ? [0] : parameter) }
        }
        let count = Int32(clamping: parameters.count)
        let result = block.withUnsafeBytes { block in
            let pointers = offsets.map { offset in
                offset.flatMap { block.baseAddress?.advanced(by: $0).assumingMemoryBound(to: CChar.self) }
            }
            guard statement.isPrepared else {
                return PQsendQueryParams(
                    connection, statement.sql, count, statement.values.map(\.typeID), pointers, lengths, formats, 1)
            }
            return PQsendQueryPrepared(
                connection, prepared[statement.sql] ?? "", count, pointers, lengths, formats, 1)
        }
        try check(result)
    }

    private func check(_ result: Int32) throws(PostgresError) {
        guard result == 1 else { throw lost() }
    }

    // MARK: Receiving

    /// Reads the answer to one statement.
    private func answer(
        _ deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> Result<PostgresRows, PostgresError> {
        guard let result = try next(deadline) else { throw lost() }
        let value = read(result)
        PQclear(result)
        // A null pointer marks the end of the answer.
        guard try next(deadline) == nil else {
            throw PostgresError(.connectionLost, "The server's answer is too long.")
        }
        return value
    }

    /// Reads the end of a transaction. Its changes are committed only then.
    private func synchronize(_ deadline: ContinuousClock.Instant) throws(PostgresError) {
        guard let result = try next(deadline) else { throw lost() }
        defer { PQclear(result) }
        guard PQresultStatus(result) == PGRES_PIPELINE_SYNC else { throw lost() }
    }

    private func next(_ deadline: ContinuousClock.Instant) throws(PostgresError) -> OpaquePointer? {
        while true {
            let unsent = PQflush(connection)
            guard unsent >= 0 else { throw lost() }
            guard PQisBusy(connection) == 1 else { break }
            let rest = ContinuousClock.now.duration(to: deadline).components
            // fits: at most the time limit, a setting
            let milliseconds = rest.seconds * 1000 + rest.attoseconds / 1_000_000_000_000_000
            guard milliseconds > 0 else {
                throw PostgresError(.connectionLost, "The server did not answer within \(timeLimit).")
            }
            let events = unsent == 1 ? Int16(POLLIN) | Int16(POLLOUT) : Int16(POLLIN)
            guard wait(for: events, milliseconds: Int32(clamping: milliseconds)) else { continue }
            guard PQconsumeInput(connection) == 1 else { throw lost() }
        }
        return PQgetResult(connection)
    }

    private func read(_ result: OpaquePointer) -> Result<PostgresRows, PostgresError> {
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK: return .success(rows(of: result))
        case PGRES_PIPELINE_ABORTED:
            return .failure(PostgresError(.other, "An earlier statement of the transaction failed."))
        default:
            let message = Self.field("M", of: result) ?? Self.message(of: connection, without: secrets)
            guard let state = Self.field("C", of: result) else {
                return .failure(PostgresError(.connectionLost, message))
            }
            let error = PostgresError(state: state, message: message)
            if error.kind == .notConnected || error.kind == .connectionLost { isUsable = false }
            if error.kind == .readOnly { isReadOnly = true }
            return .failure(error)
        }
    }

    private func rows(of result: OpaquePointer) -> PostgresRows {
        let (count, columns) = (PQntuples(result), PQnfields(result))
        var bytes: [UInt8] = []
        var fields: [(end: Int, isNull: Bool)] = []
        fields.reserveCapacity(Int(count) * Int(columns))  // fits: libpq's int has 32 bits
        for row in 0..<count {
            for column in 0..<columns {
                let isNull = PQgetisnull(result, row, column) == 1
                if !isNull, let value = PQgetvalue(result, row, column) {
                    let length = Int(PQgetlength(result, row, column))  // fits: libpq's int has 32 bits
                    bytes.append(contentsOf: UnsafeRawBufferPointer(start: value, count: length))
                }
                fields.append((bytes.count, isNull))
            }
        }
        let affected = PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
        return PostgresRows(
            // fits: libpq's int has 32 bits
            count: Int(count), columns: Int(columns), affected: affected, bytes: bytes, fields: fields)
    }

    // MARK: Helpers

    /// - Returns: Whether something has happened on the socket within the time.
    private func wait(for events: Int16, milliseconds: Int32) -> Bool {
        var descriptor = pollfd(fd: PQsocket(connection), events: events, revents: 0)
        return poll(&descriptor, 1, milliseconds) > 0
    }

    private func lost() -> PostgresError {
        let message = Self.message(of: connection, without: secrets)
        return PostgresError(.connectionLost, message.isEmpty ? "The connection to the server was lost." : message)
    }

    /// A field of an error: "C" is the SQLSTATE, "M" the message.
    private static func field(_ name: Unicode.Scalar, of result: OpaquePointer) -> String? {
        PQresultErrorField(result, Int32(name.value)).map { String(cString: $0) }  // fits: a character
    }

    /// libpq's message, as one line without the secrets.
    private static func message(of connection: OpaquePointer, without secrets: [String]) -> String {
        var message = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
        for secret in secrets {
            message = message.split(separator: secret, omittingEmptySubsequences: false).joined(separator: "***")
        }
        return message.split(whereSeparator: \.isNewline).map { $0.trimmed }.joined(separator: "; ")
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        let start = drop { $0.isWhitespace }
        guard let last = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return start[...last]
    }
}
