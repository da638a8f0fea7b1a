import Notifications
import PostgresClient
import PostgresSupport

// How the provider server's values are represented in PostgreSQL's columns.

extension PostgresValue {
    /// A text that a client sent. PostgreSQL's texts cannot contain a NUL character. Documents with one are refused, so
    /// it only comes in something that is searched for, and then nothing must be found.
    static func line(_ text: String?) -> PostgresValue { .text(text.map(clean)) }

    static func lines(_ texts: [String?]) -> PostgresValue { .texts(texts.map { $0.map(clean) }) }

    private static func clean(_ text: String) -> String {
        text.utf8.contains(0) ? text.replacing("\0", with: "\u{fffd}") : text
    }

    static func moment(_ moment: Timestamp?) -> PostgresValue { .integer(moment?.column) }
}

extension PostgresRow {
    /// A number in a column that is never NULL.
    func number(_ column: Int) -> Int64 { integer(column) ?? 0 }
    /// A text in a column that is never NULL.
    func line(_ column: Int) -> String { text(column) ?? "" }
}
