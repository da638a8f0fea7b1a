import Foundation
import GRDB
import Notifications

// The representation of values in SQLite's columns. A damaged value is read as an empty one, because GRDB ends the
// process if a value that is not optional is NULL.

extension Environment {
    /// 0 is development, 1 is production. Messages are sent to the environments in this order.
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

/// Stores a list of words in one column.
enum WordColumn {
    /// Each word has a space on both sides, so that a search for ` news ` finds only this tag.
    static func text(_ words: [String]) -> String {
        words.isEmpty ? "" : " " + words.joined(separator: " ") + " "
    }

    static func words(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }
}

extension Data {
    /// Reads hexadecimal digits; empty if the text has other characters.
    init(hexadecimal digits: String) {
        self = Hexadecimal.bytes(digits).map { Data($0) } ?? Data()
    }
}
