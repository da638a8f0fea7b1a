import Foundation

/// A table of texts by key: one `.strings` file of an app, for one language (Guide, 2.2.4.2).
public struct StringsTable: Sendable, Hashable {
    /// In bytes: an app's texts for notifications fit many times.
    public static let maximumBytes = 1 << 20

    /// Why a file is not a table.
    public struct ParseError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The line in question, from 1 on.
        public let line: Int
        public let cause: String

        public var description: String { "line \(line): \(cause)" }
    }

    private var texts: [String: String] = [:]

    /// A table of these texts.
    public init(_ texts: [String: String] = [:]) { self.texts = texts }

    /// Reads the text of a `.strings` file: `"key" = "text";`, with `/* … */` and `// …` between.
    public init(parsing text: String) throws(ParseError) {
        var reader = StringsReader(text)
        texts = try reader.entries()
    }

    /// Reads the bytes of a `.strings` file, in UTF-8 or, with a byte order mark, UTF-16.
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

    /// The text of a key; nil where there is none.
    public subscript(key: String) -> String? { texts[key] }

    /// How many keys there are.
    public var count: Int { texts.count }
}
