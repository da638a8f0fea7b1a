package import GRDB
package import Notifications

package import struct Foundation.Data

// Converts the values that both stores have to SQLite's columns and back.

extension Environment {
    /// 0 is development, 1 is production.
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
    /// Milliseconds since 1970. A time that SQLite's integers cannot hold becomes the last possible time, so that SQL
    /// orders times as Swift does.
    package var column: Int64 { Int64(clamping: milliseconds) }

    package init(column: Int64) {
        self.init(milliseconds: column == .max ? .max : UInt64(clamping: column))
    }
}

// Columns are counted from 0. NULL is read as an empty value, except by the functions that return optional values. A
// column that must not contain NULL may contain it in a damaged file, and GRDB ends the process if a NULL is read as a
// type that is not optional.
extension Row {
    package func integer(_ column: Int) -> Int64 { optionalInteger(column) ?? 0 }

    package func optionalInteger(_ column: Int) -> Int64? { self[column] }

    package func blob(_ column: Int) -> Data { optionalBlob(column) ?? Data() }

    package func optionalBlob(_ column: Int) -> Data? { self[column] }

    /// The whole text. A `String` would end at the first NUL character.
    package func text(_ column: Int) -> String { String(decoding: blob(column), as: UTF8.self) }

    package func optionalText(_ column: Int) -> String? {
        optionalBlob(column).map { String(decoding: $0, as: UTF8.self) }
    }
}
