/// A text with places for others: `%@` in their order, `%2$@` by number, `%%` for a percent sign (Guide, 2.2.4.2).
enum FormatString {
    /// In characters: what a payload of 5 KB can ask for is far shorter, unless one argument is asked for many times.
    static let maximumLength = 16_384

    /// Puts the arguments in their places. A place that has no argument stays empty, and a specifier of another kind
    /// stays as it is: arguments are texts.
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
            guard result.count <= maximumLength else { return String(result.prefix(maximumLength)) }
        }
        return result + rest
    }

    private static func argument(_ index: Int, _ arguments: [String]) -> String {
        arguments.indices.contains(index) ? arguments[index] : ""
    }

    /// `1$@`, after the percent sign.
    private static func position(_ text: Substring) -> (number: Int, after: Substring)? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let rest = text.dropFirst(digits.count)
        guard let number = Int(digits), number > 0, rest.hasPrefix("$@") else { return nil }
        return (number, rest.dropFirst(2))
    }
}
