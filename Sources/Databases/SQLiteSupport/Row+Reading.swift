package import GRDB

package import struct Foundation.Data

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
