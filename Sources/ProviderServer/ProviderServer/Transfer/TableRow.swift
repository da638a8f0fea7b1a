/// Splits bytes into lines (NDJSON) or rows (CSV, RFC 4180) while they arrive.
struct RowReader: Sendable {
    /// One line or row.
    struct Row: Sendable, Hashable {
        /// The number of the line on which the row begins. The first line is 1.
        var line: Int
        /// How many lines it has.
        var lines = 1
        /// The bytes of the row; nil if the row is too long.
        var text: [UInt8]?
    }

    private let form: ListForm
    private let maximumBytes: Int
    private var current: [UInt8] = []
    private var isTooLong = false
    private var isQuoted = false
    private var line = 1
    private var begin = 1

    /// - Parameter maximumBytes: the size of the longest row. The bytes of a longer one are skipped.
    init(_ form: ListForm, maximumBytes: Int) {
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
                finishRow(line - begin, body)
            }
        }
    }

    /// Calls `body` with the last row, which may not end with a line feed.
    mutating func finish(_ body: (Row) -> Void) {
        let isLineComplete = current.last == UInt8(ascii: "\n")
        finishRow(line - begin + (isLineComplete ? 0 : 1), body)
    }

    private mutating func finishRow(_ lines: Int, _ body: (Row) -> Void) {
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

    private static let quote = UInt8(ascii: "\"")
    /// The bytes with which a spreadsheet begins a formula, and the one that marks a field as text. Readers of CSV compare
    /// bytes, so a combining character after one of them changes nothing.
    private static let special = Array("=+-@\t\r'".utf8)
    /// The bytes for which a field is put between quotation marks.
    private static let separators = Array(",\"\n\r".utf8)

    /// A field of an export without the mark. A spreadsheet writes the mark as it found it.
    static func unmarked(_ field: String) -> String {
        let rest = field.utf8.dropFirst()
        guard field.utf8.first == UInt8(ascii: "'"), let next = rest.first, special.contains(next) else { return field }
        return String(decoding: rest, as: UTF8.self)
    }

    /// A row of these fields.
    static func text(_ fields: [String]) -> String {
        fields.map { field in
            var bytes = Array(field.utf8)
            // Mark the field as text, because a spreadsheet would read it as a formula, for example a user whose name is a
            // telephone number. An import removes the mark, so a field that begins with one gets another.
            if let first = bytes.first, special.contains(first) { bytes.insert(UInt8(ascii: "'"), at: 0) }
            if bytes.contains(where: separators.contains) {
                bytes = [quote] + bytes.flatMap { $0 == quote ? [quote, quote] : [$0] } + [quote]
            }
            return String(decoding: bytes, as: UTF8.self)
        }.joined(separator: ",") + "\r\n"
    }
}
