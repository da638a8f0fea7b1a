/// A text with placeholders: `%@` in order, `%2$@` by number, and `%%` for a percent sign (Guide, 2.2.4.2).
enum FormatString {
    /// The longest result, in bytes. A payload of 5 KB gives far less, unless a format uses one argument many times.
    static let maximumBytes = 16_384

    /// Replaces the placeholders by the arguments. A placeholder without an argument becomes empty. Other specifiers
    /// such as `%d` are left unchanged, because arguments are texts.
    static func filled(_ format: String, _ arguments: [String]) -> String {
        var result = ""
        var following = 0
        var rest = Substring(format)
        while let percent = rest.firstIndex(of: "%") {
            result += rest[..<percent]
            rest = rest[percent...].dropFirst()
            if rest.first == "%" {
                result += "%"
                rest = rest.dropFirst()
            } else if rest.first == "@" {
                result += argument(following, arguments)
                following += 1
                rest = rest.dropFirst()
            } else if let (number, after) = position(rest) {
                result += argument(number - 1, arguments)
                rest = after
            } else {
                result += "%"
            }
            guard result.utf8.count <= maximumBytes else { break }
        }
        return limited(result + rest)
    }

    /// The text up to the limit, without a part of a character at its end.
    private static func limited(_ text: String) -> String {
        guard text.utf8.count > maximumBytes else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: maximumBytes)
        while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
        return String(text.unicodeScalars[..<end])
    }

    private static func argument(_ index: Int, _ arguments: [String]) -> String {
        arguments.indices.contains(index) ? arguments[index] : ""
    }

    /// Parses `1$@` after a percent sign.
    private static func position(_ text: Substring) -> (number: Int, after: Substring)? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let rest = text.dropFirst(digits.count)
        guard let number = Int(digits), number > 0, rest.hasPrefix("$@") else { return nil }
        return (number, rest.dropFirst(2))
    }
}
