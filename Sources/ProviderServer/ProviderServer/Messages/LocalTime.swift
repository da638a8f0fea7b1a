import Foundation
import HTTPAPI
import Notifications

/// A date and a time of day without a time zone, so it is a different moment for recipients in different time zones.
struct LocalTime: Sendable, Hashable {
    private let text: String
    private let parts: DateComponents

    static let form = JSONForm<String>.text(format).map(to: \.text, from: LocalTime.init, allowed: format.name)

    private static let format = TextFormat("a date and time without a time zone, such as 2027-01-31T09:00") {
        LocalTime($0) != nil
    }

    /// - Parameter text: `2027-01-31T09:00`, or with seconds.
    init?(_ text: String) {
        guard let numbers = text.numbers(in: "0000-00-00T00:00:00") ?? text.numbers(in: "0000-00-00T00:00") else {
            return nil
        }
        var parts = DateComponents()
        parts.year = numbers[0]
        parts.month = numbers[1]
        parts.day = numbers[2]
        parts.hour = numbers[3]
        parts.minute = numbers[4]
        parts.second = numbers.count > 5 ? numbers[5] : 0
        (self.text, self.parts) = (text, parts)
        // Reject a date that does not exist, such as 31 February. The calendar would use another date without an error.
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        guard let date = calendar.date(from: parts),
            calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date) == parts
        else { return nil }
    }

    /// Returns the moment in a time zone. If a change of clocks skips this time, returns the moment one hour later.
    func moment(in zone: String) -> Timestamp {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(identifier: zone) ?? .gmt
        let seconds = calendar.date(from: parts)?.timeIntervalSince1970 ?? 0
        return Timestamp(milliseconds: UInt64(max(0, seconds) * 1000))  // fits: a year of four digits
    }

    /// The earliest moment at which a time zone reaches this time, which is 14 hours before GMT does.
    var earliest: Timestamp { moment(in: "GMT").advanced(by: .seconds(-14 * 3600)) }
}
