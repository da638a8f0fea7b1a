import Notifications

/// Parses a `.strings` file, which is an old-style property list: a dictionary of texts without its braces.
///
/// Foundation's parser is not used. It accepts any property list and does not say where a file is wrong. On Linux it
/// cannot read the form without braces. The grammar is small.
struct StringsReader {
    private let scalars: [Unicode.Scalar]
    private var position = 0

    init(_ text: String) { scalars = Array(text.unicodeScalars) }

    /// Returns all entries. If a key occurs twice, the last entry is used.
    mutating func entries() throws(StringsTable.ParseError) -> [ExactText: String] {
        var entries: [ExactText: String] = [:]
        while true {
            try skipSpace()
            guard next != nil else { return entries }
            let key = try word()
            try skipSpace()
            var value = key
            // A key without a value is its own text.
            if consume("=") {
                try skipSpace()
                value = try word()
                try skipSpace()
            }
            guard consume(";") else { throw error("There is no semicolon after the entry of \(key.debugDescription).") }
            entries[ExactText(key)] = value
        }
    }

    private var next: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

    private mutating func consume(_ scalar: Unicode.Scalar) -> Bool {
        guard next == scalar else { return false }
        position += 1
        return true
    }

    private func error(_ cause: String) -> StringsTable.ParseError {
        let line = scalars[..<min(position, scalars.count)].count { $0 == "\n" } + 1
        return StringsTable.ParseError(line: line, cause: cause)
    }

    /// Skips white space and comments.
    private mutating func skipSpace() throws(StringsTable.ParseError) {
        while let scalar = next {
            if Self.isSpace(scalar) {
                position += 1
            } else if scalar == "/", position + 1 < scalars.count, scalars[position + 1] == "/" {
                while let scalar = next, scalar != "\n", scalar != "\r" { position += 1 }
            } else if scalar == "/", position + 1 < scalars.count, scalars[position + 1] == "*" {
                position += 2
                while !(next == "*" && position + 1 < scalars.count && scalars[position + 1] == "/") {
                    guard next != nil else { throw error("A comment does not end.") }
                    position += 1
                }
                position += 2
            } else {
                return
            }
        }
    }

    /// Parses a text in quotation marks, or a word without them.
    private mutating func word() throws(StringsTable.ParseError) -> String {
        if let mark = next, mark == "\"" || mark == "'" {
            position += 1
            return try quoted(until: mark)
        }
        let start = position
        while let scalar = next, Self.isPlain(scalar) { position += 1 }
        guard position > start else { throw error("There is neither a text nor a word.") }
        var text = ""
        text.unicodeScalars.append(contentsOf: scalars[start..<position])
        return text
    }

    /// White space of property lists: that of ASCII, and the two separators of Unicode.
    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09...0x0d, 0x20, 0x2028, 0x2029: true
        default: false
        }
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_", "$", "/", ":", ".", "-": true
        default: false
        }
    }

    private mutating func quoted(until mark: Unicode.Scalar) throws(StringsTable.ParseError) -> String {
        // Escapes are UTF-16 code units, and two of them may form one character.
        var units: [UInt16] = []
        while let scalar = next {
            position += 1
            if scalar == mark { return String(decoding: units, as: UTF16.self) }
            if scalar == "\\" {
                units.append(try escape())
            } else {
                units.append(contentsOf: UTF16.encode(scalar).map(Array.init) ?? [])
            }
        }
        throw error("A text does not end.")
    }

    /// Parses the characters after a backslash.
    private mutating func escape() throws(StringsTable.ParseError) -> UInt16 {
        guard let scalar = next else { throw error("A text does not end.") }
        position += 1
        switch scalar {
        case "n": return 0x0a
        case "r": return 0x0d
        case "t": return 0x09
        case "a": return 0x07
        case "b": return 0x08
        case "f": return 0x0c
        case "v": return 0x0b
        case "U", "u": return try digits(upTo: 4, radix: 16)
        case "0"..."7":
            position -= 1
            return try digits(upTo: 3, radix: 8)
        default:
            // A quotation mark, a backslash, a line break and any other character stay unchanged.
            return scalar.value <= 0xffff ? UInt16(scalar.value) : 0xfffd  // fits: at most 0xffff
        }
    }

    private mutating func digits(upTo count: Int, radix: Int) throws(StringsTable.ParseError) -> UInt16 {
        var value: UInt32 = 0
        var read = 0
        while read < count, let scalar = next, scalar.isASCII, let digit = Character(scalar).hexDigitValue,
            digit < radix
        {
            value = value * UInt32(radix) + UInt32(digit)  // fits: at most five digits, of a radix up to 16
            position += 1
            read += 1
        }
        guard read > 0 else { throw error("An escape has no digits.") }
        return UInt16(truncatingIfNeeded: value)
    }
}
