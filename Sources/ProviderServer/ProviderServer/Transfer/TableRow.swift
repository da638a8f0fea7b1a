/// Splits bytes into lines (NDJSON) or rows (CSV, RFC 4180) while they arrive.
struct RowReader: Sendable {
    enum Form: Sendable, Hashable {
        case lines
        /// CSV. A line feed between quotation marks does not end a row.
        case csv
    }

    /// One line or row.
    struct Row: Sendable, Hashable {
        /// The number of the line on which the row begins. The first line is 1.
        var line: Int
        /// How many lines it has.
        var lines = 1
        /// The bytes of the row; nil if the row is too long.
        var text: [UInt8]?
    }

    private let form: Form
    private let maximumBytes: Int
    private var current: [UInt8] = []
    private var isTooLong = false
    private var isQuoted = false
    private var line = 1
    private var begin = 1

    /// - Parameter maximumBytes: the size of the longest row. The bytes of a longer one are skipped.
    init(_ form: Form, maximumBytes: Int) {
        self.form = form
        self.maximumBytes = maximumBytes
    }

    /// Reads bytes, and calls `body` with each complete row. Skips empty lines.
    mutating func read(_ bytes: some Sequence<UInt8>, _ body: (Row) -> Void) {
        for byte in bytes {
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            guard byte == UInt8(ascii: "\n") else {
                if current.count < maximumBytes { current.append(byte) } else { isTooLong = true }
                continue
            }
            line += 1
            if form == .csv, isQuoted, !isTooLong {
                current.append(byte)
            } else {
                end(line - begin, body)
            }
        }
    }

    /// Calls `body` with the last row, which may not end with a line feed.
    mutating func finish(_ body: (Row) -> Void) {
        let isLineComplete = current.last == UInt8(ascii: "\n")
        end(line - begin + (isLineComplete ? 0 : 1), body)
    }

    private mutating func end(_ lines: Int, _ body: (Row) -> Void) {
        if current.last == UInt8(ascii: "\r") { current.removeLast() }
        if isTooLong || !current.isEmpty {
            body(Row(line: begin, lines: lines, text: isTooLong ? nil : current))
        }
        current = []
        (isTooLong, isQuoted, begin) = (false, false, line)
    }
}

/// Reads and writes the fields of a CSV row (RFC 4180).
enum CSVRow {
    /// - Returns: nil if a quotation mark is missing or misplaced.
    static func fields(_ row: [UInt8]) -> [String]? {
        var fields: [String] = []
        var index = row.startIndex
        while true {
            var field: [UInt8] = []
            if index < row.endIndex, row[index] == UInt8(ascii: "\"") {
                index += 1
                while true {
                    guard index < row.endIndex else { return nil }
                    let byte = row[index]
                    index += 1
                    if byte != UInt8(ascii: "\"") {
                        field.append(byte)
                    } else if index < row.endIndex, row[index] == UInt8(ascii: "\"") {
                        field.append(byte)
                        index += 1
                    } else {
                        break
                    }
                }
            } else {
                while index < row.endIndex, row[index] != UInt8(ascii: ",") {
                    guard row[index] != UInt8(ascii: "\"") else { return nil }
                    field.append(row[index])
                    index += 1
                }
            }
            fields.append(String(decoding: field, as: UTF8.self))
            guard index < row.endIndex else { return fields }
            guard row[index] == UInt8(ascii: ",") else { return nil }
            index += 1
        }
    }

    /// The characters with which a spreadsheet begins a formula, and the one that marks a field as text.
    private static let special = "=+-@\t\r'"

    /// A field of an export without the mark. A spreadsheet writes the mark as it found it.
    static func unmarked(_ field: String) -> String {
        let rest = field.dropFirst()
        guard field.first == "'", let next = rest.first, special.contains(next) else { return field }
        return String(rest)
    }

    /// A row of these fields.
    static func text(_ fields: [String]) -> String {
        fields.map { field in
            // Mark the field as text, because a spreadsheet would read it as a formula, for example a user whose name is a
            // telephone number. An import removes the mark, so a field that begins with one gets another.
            let safe = field.first.map(special.contains) == true ? "'" + field : field
            return safe.contains { ",\"\n\r".contains($0) } ? "\"" + safe.replacing("\"", with: "\"\"") + "\"" : safe
        }.joined(separator: ",") + "\r\n"
    }
}
