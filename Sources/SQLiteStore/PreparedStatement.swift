import GRDB
import GRDBSQLite

/// One use of a statement from a connection's cache: bind, step, read; it is reset when the use ends.
///
/// It binds and steps GRDB's statement itself. GRDB's own way takes the values in boxes and the bytes as Foundation's
/// `Data`, a copy more for each payload; so storing costs the processor what SQLite alone costs.
struct PreparedStatement: ~Copyable {
    /// Keeps the handle alive.
    private let statement: Statement
    private let handle: SQLiteStatement
    /// The first failure to bind a value, which running then reports.
    private var bindResult: CInt = SQLITE_OK

    init(_ sql: String, in database: Database) throws(SQLiteFailure) {
        do {
            statement = try database.cachedStatement(sql: sql)
        } catch {
            throw SQLiteFailure(error)
        }
        handle = statement.sqliteStatement
    }

    deinit {
        // Its result is the last step's, which has been looked at.
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    // MARK: Parameters, counted from 1

    mutating func bind(_ value: Int64, at index: CInt) {
        note(sqlite3_bind_int64(handle, index, value))
    }

    mutating func bindNull(at index: CInt) {
        note(sqlite3_bind_null(handle, index))
    }

    /// SQLite copies the text.
    mutating func bind(_ value: String, at index: CInt) {
        var value = value
        note(
            value.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) { characters in
                    // An empty buffer has no address, which SQLite would take for NULL.
                    characters.isEmpty
                        ? sqlite3_bind_text(handle, index, "", 0, transient)
                        : sqlite3_bind_text(handle, index, characters.baseAddress, CInt(characters.count), transient)
                }
            }
        )
    }

    /// SQLite copies the bytes.
    mutating func bind(_ bytes: UnsafeRawBufferPointer, at index: CInt) {
        note(
            bytes.isEmpty
                ? sqlite3_bind_zeroblob(handle, index, 0)
                : sqlite3_bind_blob64(handle, index, bytes.baseAddress, UInt64(bytes.count), transient)
        )
    }

    mutating func bind(_ bytes: [UInt8], at index: CInt) {
        // Does not escape: `bind` has the bytes copied.
        bytes.withUnsafeBytes { bind($0, at: index) }
    }

    private mutating func note(_ result: CInt) {
        if bindResult == SQLITE_OK { bindResult = result }
    }

    // MARK: Running

    /// Runs a statement that has no rows to give; it can be bound and run again after that.
    /// - Returns: How many rows it changed.
    @discardableResult
    mutating func run() throws(SQLiteFailure) -> Int {
        let hasRow = try next()
        let changes = hasRow ? 0 : Int(sqlite3_changes(sqlite3_db_handle(handle)))
        sqlite3_reset(handle)
        return changes
    }

    /// - Returns: Whether there is another row.
    mutating func next() throws(SQLiteFailure) -> Bool {
        guard bindResult == SQLITE_OK else { throw failure(bindResult) }
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code:
            let failure = failure(code)
            // So that the statement can be run again with other values.
            sqlite3_reset(handle)
            throw failure
        }
    }

    private func failure(_ code: CInt) -> SQLiteFailure {
        let connection = sqlite3_db_handle(handle)
        let extended = sqlite3_extended_errcode(connection)
        return SQLiteFailure(
            code: ResultCode(rawValue: extended & 0xff == code & 0xff ? extended : code),
            message: String(cString: sqlite3_errmsg(connection)),
        )
    }

    // MARK: Columns of the present row, counted from 0

    func integer(_ column: CInt) -> Int64 {
        sqlite3_column_int64(handle, column)
    }

    func isNull(_ column: CInt) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    func text(_ column: CInt) -> String {
        guard let bytes = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    func withBlob<Value>(_ column: CInt, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        let bytes = sqlite3_column_blob(handle, column)
        return body(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column))))
    }

    func blob(_ column: CInt) -> [UInt8] {
        withBlob(column) { [UInt8]($0) }
    }
}

/// Tells SQLite to copy what is bound (`SQLITE_TRANSIENT`, a cast that Swift does not import from C).
private let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
