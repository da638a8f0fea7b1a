// Reads and writes durations as the documents of both servers have them: `PT5S`, `PT0.5S`, `PT1H30M`, `P2D`.
extension Duration {
    /// The longest duration that a document may have: longer than any test needs.
    package static let longestInDocuments = Duration.seconds(366 * 86_400)

    /// Reads a duration of ISO 8601 with days, hours, minutes and seconds. The seconds may have up to nine decimal
    /// places. Nothing else reads such durations.
    /// - Parameters:
    ///   - longest: the longest duration.
    ///   - allowsWeeks: whether weeks may stand before the days. Audiences of the provider server may have them.
    /// - Returns: nil for anything else, including years and months, which have no fixed length, and for more than `longest`.
    package init?(iso8601 text: String, longest: Duration = .longestInDocuments, allowsWeeks: Bool = false) {
        guard text.utf8.first == UInt8(ascii: "P") else { return nil }
        let parts = text.dropFirst().split(separator: "T", maxSplits: 1, omittingEmptySubsequences: false)
        let dates: [(unit: Character, seconds: Int64)] =
            allowsWeeks ? [("W", 604_800), ("D", 86_400)] : [("D", 86_400)]
        guard let days = Self.seconds(parts[0], units: dates) else { return nil }
        var (sum, isThere) = (days.duration, days.isThere)
        if parts.count == 2 {
            let units: [(unit: Character, seconds: Int64)] = [("H", 3600), ("M", 60), ("S", 1)]
            guard let time = Self.seconds(parts[1], units: units), time.isThere else { return nil }
            sum += time.duration
            isThere = true
        }
        guard isThere, sum <= longest else { return nil }
        self = sum
    }

    /// The duration in the largest unit of which it is a whole number, such as `PT1H`, `PT90M`, `PT5S` or `PT0.5S`: the form in
    /// which people write most durations, so that they get back what they set. A negative duration gets a minus sign,
    /// which `init(iso8601:)` refuses.
    package var iso8601: String {
        let (seconds, attoseconds) = components
        let nanoseconds = attoseconds / 1_000_000_000
        guard nanoseconds != 0 else {
            for (unit, length) in [("H", Int64(3600)), ("M", 60)] where seconds != 0 && seconds % length == 0 {
                return "PT\(seconds / length)\(unit)"
            }
            return "PT\(seconds)S"
        }
        var digits = String(nanoseconds.magnitude)
        digits = String(repeating: "0", count: 9 - digits.count) + digits
        while digits.hasSuffix("0") { digits.removeLast() }
        let sign = self < .zero ? "-" : ""
        return "PT\(sign)\(seconds.magnitude).\(digits)S"
    }

    /// Sums numbers with units. Each unit may occur once, in the order of `units`.
    private static func seconds(
        _ text: Substring,
        units: [(unit: Character, seconds: Int64)],
    ) -> (duration: Duration, isThere: Bool)? {
        var rest = text
        var sum = Duration.zero
        for (unit, seconds) in units {
            let digits = rest.prefix { $0 != unit }
            guard digits.count < rest.count else { continue }
            guard let amount = amount(digits, seconds) else { return nil }
            sum += amount
            rest = rest.dropFirst(digits.count + 1)
        }
        return rest.isEmpty ? (sum, !text.isEmpty) : nil
    }

    /// Reads a number of at most nine digits before and after the point, so nothing can overflow. Only seconds may
    /// have a fraction.
    private static func amount(_ digits: Substring, _ seconds: Int64) -> Duration? {
        let parts = digits.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = number(parts[0]) else { return nil }
        // fits: nine digits, and the seconds of a week at most
        guard parts.count == 2 else { return .seconds(whole * seconds) }
        guard seconds == 1, let fraction = number(parts[1]) else { return nil }
        let scale = (parts[1].count..<9).reduce(Int64(1)) { scale, _ in scale * 10 }
        return .seconds(whole) + .nanoseconds(fraction * scale)  // fits: nine digits, as nanoseconds
    }

    private static func number(_ digits: Substring) -> Int64? {
        guard (1...9).contains(digits.utf8.count),
            digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int64(digits)  // fits: nine digits
    }
}
