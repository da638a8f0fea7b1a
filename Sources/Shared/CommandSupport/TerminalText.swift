import Notifications

/// Measures and breaks text for a terminal.
package enum TerminalText {
    /// The number of columns of a text. Wide characters of East Asia and emoji have two, combining marks none (Unicode
    /// Standard Annex 11).
    package static func width(_ text: some StringProtocol) -> Int { text.reduce(0) { $0 + width($1) } }

    package static func width(_ character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        if character.unicodeScalars.contains(where: { $0.properties.isEmojiPresentation || $0.value == 0xfe0f }) {
            return 2
        }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        switch first.value {
        case 0x1100...0x115f, 0x2e80...0x303e, 0x3041...0x33ff, 0x3400...0x4dbf, 0x4e00...0x9fff, 0xa000...0xa4cf,
            0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6, 0x20000...0x3fffd:
            return 2
        default: return 1
        }
    }

    /// Breaks a text into lines of at most `columns` columns, at spaces if there are any.
    /// - Parameter maximum: the most lines. If the text is longer, the last line ends with an ellipsis.
    package static func wrapped(_ text: String, columns: Int, maximum: Int) -> [String] {
        var lines: [String] = []
        for paragraph in clean(text).split(separator: "\n", omittingEmptySubsequences: false) {
            var line = ""
            for word in paragraph.split(separator: " ", omittingEmptySubsequences: true) {
                if !line.isEmpty, width(line) + 1 + width(word) > columns {
                    lines.append(line)
                    line = ""
                }
                line += (line.isEmpty ? "" : " ") + word
                while width(line) > columns {
                    let (head, tail) = cut(line, columns: columns)
                    lines.append(head)
                    line = tail
                }
            }
            lines.append(line)
        }
        guard lines.count > maximum, maximum > 0 else { return lines }
        let last = cut(lines[maximum - 1], columns: columns - 1).head + "…"
        return lines.prefix(maximum - 1) + [last]
    }

    /// One line of exactly `columns` columns.
    package static func filled(_ text: String, columns: Int) -> String {
        let line = clean(text).replacing("\n", with: " ")
        let fitting = width(line) <= columns ? line : cut(line, columns: columns - 1).head + "…"
        return fitting + String(repeating: " ", count: max(0, columns - width(fitting)))
    }

    /// Replaces characters that could move the cursor or turn the text around: it comes from a provider.
    package static func clean(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar {
                    case "\n": scalar
                    case "\t": " "
                    default: scalar.isUnsafeToShow ? "\u{fffd}" : scalar
                    }
                }))
    }

    private static func cut(_ text: String, columns: Int) -> (head: String, tail: String) {
        var (head, used) = ("", 0)
        var rest = Substring(text)
        while let character = rest.first, head.isEmpty || used + width(character) <= columns {
            head.append(character)
            used += width(character)
            rest = rest.dropFirst()
        }
        return (head, String(rest))
    }
}
