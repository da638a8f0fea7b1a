/// The help of a command.
enum HelpText {
    private static let columns = 80

    /// Breaks the lines of the usage, which the parser leaves as long as they are. An option and its value stay together.
    static func wrapped(_ help: String) -> String {
        help.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasPrefix("USAGE: ") ? wrapped(usage: line) : String(line)
        }.joined(separator: "\n")
    }

    private static func wrapped(usage: Substring) -> String {
        var lines = [""]
        for part in usage.matches(of: /\[[^\]]*\]|-\S+ <[^>]*>|\S+/).map(\.output) {
            if lines[lines.count - 1].count + 1 + part.count > columns { lines.append("      ") }
            lines[lines.count - 1] += (lines[lines.count - 1].isEmpty ? "" : " ") + part
        }
        return lines.joined(separator: "\n")
    }
}
