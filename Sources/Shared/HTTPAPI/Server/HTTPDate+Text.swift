import Foundation
package import Notifications

extension HTTPDate {
    /// Formats a time for the header field `Date` (RFC 9110, 5.6.7).
    package static func text(of moment: Timestamp) -> String {
        let date = Date(timeIntervalSince1970: Double(moment.milliseconds) / 1000)
        return date.formatted(style)
    }

    private static let style = Date.VerbatimFormatStyle(
        format:
            "\(weekday: .abbreviated), \(day: .twoDigits) \(month: .abbreviated) \(year: .defaultDigits) \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\(second: .twoDigits) GMT",
        locale: Locale(identifier: "en_US_POSIX"), timeZone: .gmt, calendar: Calendar(identifier: .gregorian))
}
