/// A parameter of a statement. It includes its type, because a parameter of PostgreSQL has one even if it is NULL.
package enum SQLValue: Sendable, Hashable {
    case integer(Int64?)
    case text(String?)
    case bytes([UInt8]?)
    /// SQLite stores 0 or 1.
    case bool(Bool)
    /// A text that may contain any character, also NUL. PostgreSQL's texts cannot, so its column has the type `bytea`.
    case anyText(String)
}

extension SQLValue {
    /// A text for a column of the type `text`. PostgreSQL's texts cannot contain a NUL character, and SQLite's functions end
    /// a text there. Documents with one are refused, so it only comes in something that is searched for, and then nothing
    /// must be found.
    package static func withoutNUL(_ text: String) -> String {
        text.utf8.contains(0) ? text.replacing("\0", with: "\u{fffd}") : text
    }
}

/// A row of an answer. Columns are counted from 0. A field is nil if it is NULL or does not have the type that the caller
/// asks for.
package protocol SQLRow {
    func isNull(_ column: Int) -> Bool
    func integer(_ column: Int) -> Int64?
    func text(_ column: Int) -> String?
    func bytes(_ column: Int) -> [UInt8]?
    func bool(_ column: Int) -> Bool?
}

/// A row has a value that the store cannot have written.
struct DamagedRow: Error {}

/// Another transaction has changed a row that this one is based on. The transaction is repeated.
package struct TransactionConflict: Error, Sendable {
    package init() {}
}
