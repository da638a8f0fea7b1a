import Foundation
import HTTPTypes
import Notifications

/// Formats a time for the header `Date` (RFC 9110, 5.6.7).
enum HTTPDate {
    static func text(of moment: Timestamp) -> String {
        let date = Date(timeIntervalSince1970: Double(moment.milliseconds) / 1000)
        return date.formatted(style)
    }

    private static let style = Date.VerbatimFormatStyle(
        format:
            "\(weekday: .abbreviated), \(day: .twoDigits) \(month: .abbreviated) \(year: .defaultDigits) \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\(second: .twoDigits) GMT",
        locale: Locale(identifier: "en_US_POSIX"), timeZone: .gmt, calendar: Calendar(identifier: .gregorian))
}
