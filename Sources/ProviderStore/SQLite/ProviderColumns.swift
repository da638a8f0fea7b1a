import Foundation
import GRDB
import Notifications

// The form of our values in SQLite's columns. A value of a damaged file becomes an empty one: GRDB would end the
// process if a value that is not optional is NULL.

extension Environment {
    /// 0 is development, 1 is production: the order in which a message works through them.
    var column: Int64 { self == .development ? 0 : 1 }

    init(column: Int64) { self = column == 0 ? .development : .production }
}

extension Timestamp {
    var column: Int64 { Int64(clamping: milliseconds) }

    init(column: Int64) { self.init(milliseconds: UInt64(clamping: column)) }
}

extension Row {
    func integer(_ column: Int) -> Int64 {
        let value: Int64? = self[column]
        return value ?? 0
    }

    func optionalInteger(_ column: Int) -> Int64? { self[column] }

    func text(_ column: Int) -> String {
        let value: String? = self[column]
        return value ?? ""
    }

    func optionalText(_ column: Int) -> String? { self[column] }

    func blob(_ column: Int) -> Data {
        let value: Data? = self[column]
        return value ?? Data()
    }

    func optionalBlob(_ column: Int) -> Data? { self[column] }
}

/// Lists of words in one column.
enum WordColumn {
    /// Each word between two spaces, so that a search for ` news ` finds the tag and nothing else.
    static func text(_ words: [String]) -> String {
        words.isEmpty ? "" : " " + words.joined(separator: " ") + " "
    }

    static func words(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }
}

extension Data {
    /// The bytes of hexadecimal digits; empty if they are not.
    init(hexadecimal digits: String) {
        self = Hexadecimal.bytes(digits).map { Data($0) } ?? Data()
    }
}
