import Foundation
package import Notifications

/// A table of texts by key: one `.strings` file of an app in one language (Guide, 2.2.4.2).
public struct StringsTable: Sendable, Hashable {
    /// The largest size of a file, in bytes. An app's texts for notifications take far less.
    public static let maximumBytes = 1 << 20

    /// The reason why a file is not a valid table.
    public struct ParseError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The number of the line with the error, from 1.
        public let line: Int
        /// A sentence that says what is wrong.
        public let cause: String

        /// The line and the cause.
        public var description: String { "line \(line): \(cause)" }
    }

    private var texts: [ExactText: String]

    /// Creates a table with these texts.
    public init(_ texts: [String: String] = [:]) {
        self.init(Dictionary(texts.map { (ExactText($0.key), $0.value) }) { _, last in last })
    }

    package init(_ texts: [ExactText: String]) { self.texts = texts }

    /// Parses the text of a `.strings` file: entries `"key" = "text";`, and comments `/* … */` and `// …` between
    /// them.
    /// - Throws: ``ParseError`` with the line of the first error.
    public init(parsing text: String) throws(ParseError) {
        var reader = StringsReader(text)
        texts = try reader.entries()
    }

    /// Parses the bytes of a `.strings` file in UTF-8, or in UTF-16 with a byte order mark.
    /// - Throws: ``ParseError`` if the file is longer than ``maximumBytes``, not in one of these encodings, or not a
    ///   table.
    public init(bytes: [UInt8]) throws(ParseError) {
        guard bytes.count <= Self.maximumBytes else { throw ParseError(line: 1, cause: "The file is too long.") }
        let text: String?
        if bytes.starts(with: [0xff, 0xfe]) || bytes.starts(with: [0xfe, 0xff]) {
            text = String(bytes: bytes, encoding: .utf16)
        } else {
            text = String(
                validating: bytes.starts(with: [0xef, 0xbb, 0xbf]) ? bytes.dropFirst(3) : bytes[...], as: UTF8.self)
        }
        guard let text else { throw ParseError(line: 1, cause: "The file is neither UTF-8 nor UTF-16.") }
        try self.init(parsing: text)
    }

    /// The text of a key; nil if the table has none.
    public subscript(key: String) -> String? { texts[ExactText(key)] }

    /// The number of keys.
    public var count: Int { texts.count }
}
