/// A duration of ISO 8601 with weeks, days, hours, minutes and seconds, such as `PT5S` and `P30D`. Years and months have no
/// fixed length, so there are none.
struct ISODuration: Sendable, Hashable {
    let duration: Duration

    /// The longest text, in bytes.
    private static let maximumBytes = 32

    init?(_ text: String) {
        guard text.utf8.count <= Self.maximumBytes,
            let match = text.wholeMatch(
                of: /P(?:(\d{1,5})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,7})M)?(?:(\d{1,8})(?:\.(\d{1,3}))?S)?)?/
            ),
            text.last?.isNumber == false, text.last != "P", text.last != "T"
        else { return nil }
        func number(_ digits: Substring?) -> Int64 { digits.flatMap { Int64($0) } ?? 0 }
        let days = number(match.1) * 7 + number(match.2)
        let seconds = ((days * 24 + number(match.3)) * 60 + number(match.4)) * 60 + number(match.5)
        let fraction = match.6.map { String($0).padding(to: 3) } ?? "0"
        duration = .seconds(seconds) + .milliseconds(Int64(fraction) ?? 0)
    }
}

extension String {
    /// The digits with zeros behind them.
    fileprivate func padding(to count: Int) -> String {
        self + String(repeating: "0", count: max(0, count - self.count))
    }
}
