package import Notifications
package import PostgresClient

// How the values that both stores have are represented in PostgreSQL's columns.

extension Environment {
    /// 0 for development, 1 for production.
    package var column: Int64 {
        switch self {
        case .development: 0
        case .production: 1
        }
    }

    package init?(column: Int64) {
        switch column {
        case 0: self = .development
        case 1: self = .production
        default: return nil
        }
    }
}

extension Timestamp {
    /// Milliseconds since 1970. A time that is too large for `bigint` becomes the largest `bigint`, so that SQL
    /// compares times in the same order as Swift.
    package var column: Int64 { Int64(clamping: milliseconds) }

    package init(column: Int64) { self.init(milliseconds: column == .max ? .max : UInt64(clamping: column)) }
}

extension PostgresRow {
    package func moment(_ column: Int) -> Timestamp? { integer(column).map(Timestamp.init(column:)) }
}
