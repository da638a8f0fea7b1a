import Dispatch
package import GRDB
package import SQLSupport
package import Storage

import struct Foundation.Data

/// A SQLite database that one process uses.
package final class SQLiteDatabase: SQLDatabase {
    private let pool: any DatabaseWriter
    private let commits: GroupCommit

    package init(_ pool: any DatabaseWriter, commits: GroupCommit) {
        self.pool = pool
        self.commits = commits
    }

    package func read<Value: Sendable>(
        _ statement: SQLStatement,
        _ value: @escaping @Sendable (any SQLRow) throws -> Value,
    ) async throws(StoreError) -> [Value] {
        do {
            return try await pool.read { try SQLiteTransaction(database: $0).rows(statement, value) }
        } catch {
            throw error as? StoreError ?? SQLiteFailure(error).storeError
        }
    }

    package func write(_ statements: [SQLStatement]) async throws(StoreError) -> [Int] {
        try await write { transaction in try statements.map { try transaction.run($0) } }
    }

    /// Writes together with the changes of other callers.
    package func transact<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLTransaction) throws -> Value,
    ) async throws -> Value {
        try await commits.write(undoable: false) { database, _ throws(SQLiteFailure) -> Result<Value, any Error> in
            do {
                return .success(try Self.undoing(database, body))
            } catch let error as DatabaseError {
                throw SQLiteFailure(error)
            } catch {
                return .failure(error)
            }
        } committed: {
            $0
        }.get().get()
    }

    /// Runs `body`. If it throws, its changes are undone, and those of the other callers stay.
    private static func undoing<Value>(
        _ database: Database,
        _ body: (any SQLTransaction) throws -> Value,
    ) throws -> Value {
        var value: Value?
        try database.inSavepoint {
            value = try body(SQLiteTransaction(database: database))
            return .commit
        }
        guard let value else { throw StoreError.closed }
        return value
    }

    package func trouble() async -> StoreError? {
        do throws(StoreError) {
            // Try to write, because a full disk can still be read.
            _ = try await write(["PRAGMA user_version = 0"])
            return nil
        } catch {
            return error
        }
    }

    package func close() async {
        await commits.close()
        // Closing waits for open reads. Ignore a failure, because the process ends soon.
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [pool] in
                try? pool.close()
                continuation.resume()
            }
        }
    }
}

/// Executes statements on a connection.
struct SQLiteTransaction: SQLTransaction {
    private let database: Database

    init(database: Database) { self.database = database }

    func rows<Value>(_ statement: SQLStatement, _ value: (any SQLRow) throws -> Value) throws -> [Value] {
        var values: [Value] = []
        try forEach(statement) { prepared, arguments in
            let rows = try Row.fetchCursor(prepared, arguments: arguments)
            while let row = try rows.next() { values.append(try value(SQLiteRow(row: row))) }
        }
        return values
    }

    @discardableResult
    func run(_ statement: SQLStatement) throws -> Int {
        var count = 0
        try forEach(statement) { prepared, arguments in
            try prepared.execute(arguments: arguments)
            count += database.changesCount
        }
        return count
    }

    /// Calls `body` with the parameters of each row of the batch; once if there is no batch.
    private func forEach(_ statement: SQLStatement, _ body: (Statement, StatementArguments) throws -> Void) throws {
        let text = statement.sqlite
        let prepared =
            statement.isPrepared
            ? try database.cachedStatement(sql: text.sql) : try database.makeStatement(sql: text.sql)
        for row in text.rows { try body(prepared, StatementArguments((text.before + row + text.after).map(\.column))) }
    }
}

extension Database {
    /// Executes the statements of both databases, with a typed error.
    package func sql<Value>(_ body: (any SQLTransaction) throws -> Value) throws(SQLiteFailure) -> Value {
        do {
            return try body(SQLiteTransaction(database: self))
        } catch let error as StoreError {
            throw .damaged(error.cause)
        } catch {
            throw SQLiteFailure(error)
        }
    }
}

/// A row that a statement returns. It is valid until the statement continues.
private struct SQLiteRow: SQLRow {
    let row: Row

    func isNull(_ column: Int) -> Bool { row.hasNull(atIndex: column) }
    func integer(_ column: Int) -> Int64? { row.optionalInteger(column) }
    func text(_ column: Int) -> String? { row.optionalText(column) }
    func bytes(_ column: Int) -> [UInt8]? { row.optionalBlob(column).map { Array($0) } }
    func bool(_ column: Int) -> Bool? { row.optionalInteger(column).map { $0 != 0 } }
}

extension SQLValue {
    fileprivate var column: DatabaseValue {
        switch self {
        case .integer(let value): value?.databaseValue ?? .null
        case .text(let value): value.map { Self.withoutNUL($0).databaseValue } ?? .null
        case .bytes(let value): value.map { Data($0).databaseValue } ?? .null
        case .bool(let value): value.databaseValue
        // GRDB passes a `String` as a C string, which ends at the first NUL character.
        case .anyText(let value): Data(value.utf8).databaseValue
        }
    }
}
