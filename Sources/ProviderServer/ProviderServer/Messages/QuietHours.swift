import Foundation
import HTTPAPI
import Notifications

/// The times of day between which a recipient, in their own time zone, does not get a message.
struct QuietHours: Sendable, Hashable {
    /// Minutes since midnight.
    private let from: Int
    private let to: Int

    static let form: JSONForm<QuietHours> = .object(
        nil, { QuietHours(from: $0, to: $1) }, .required("from", time, \.from), .required("to", time, \.to))

    private static let timeFormat = TextFormat(
        "a time of day such as 22:00", pattern: "^(?:[01][0-9]|2[0-3]):[0-5][0-9]$"
    ) { minutes($0) != nil }

    private static let time: JSONForm<Int> = JSONForm<String>.text(timeFormat)
        .map(to: text, from: minutes, allowed: timeFormat.name)

    /// - Parameter pointer: the place of the hours in the document.
    func check(at pointer: String) throws(Problem) {
        guard from != to else { throw .invalid(pointer + "/to", "The value has to be another time than from.") }
    }

    private static func text(_ minutes: Int) -> String {
        let (hour, minute) = (minutes / 60, minutes % 60)
        return (hour < 10 ? "0" : "") + "\(hour):" + (minute < 10 ? "0" : "") + "\(minute)"
    }

    private static func minutes(_ text: String) -> Int? {
        guard let numbers = text.numbers(in: "00:00"), numbers[0] < 24, numbers[1] < 60 else { return nil }
        return numbers[0] * 60 + numbers[1]
    }

    /// Returns when recipients in a time zone get a message that starts at a moment: then, or at the end of their quiet hours.
    func moment(after start: Timestamp, in zone: String) -> Timestamp {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(identifier: zone) ?? .gmt
        let date = Date(timeIntervalSince1970: Double(start.milliseconds) / 1000)
        let parts = calendar.dateComponents([.hour, .minute], from: date)
        let now = (parts.hour ?? 0) * 60 + (parts.minute ?? 0)
        let isQuiet = from < to ? (from..<to).contains(now) : now >= from || now < to
        guard isQuiet,
            let end = calendar.nextDate(
                after: date, matching: DateComponents(hour: to / 60, minute: to % 60, second: 0),
                matchingPolicy: .nextTime)
        else { return start }
        return Timestamp(nearest: end)
    }
}
