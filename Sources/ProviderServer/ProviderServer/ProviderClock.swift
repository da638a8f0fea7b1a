import Connections
import Foundation
import NIOCore
package import Notifications

/// Tells the time, and waits. Tests replace it.
package struct ProviderClock: Sendable {
    package var now: @Sendable () -> Timestamp
    /// Returns after the duration, or at once when the task is cancelled.
    package var sleep: @Sendable (Duration) async -> Void

    package init(
        now: @escaping @Sendable () -> Timestamp,
        sleep: @escaping @Sendable (Duration) async -> Void,
    ) {
        self.now = now
        self.sleep = sleep
    }

    package static let system = ProviderClock(
        // fits: the machine's clock
        now: { Timestamp(milliseconds: UInt64(max(0, Date().timeIntervalSince1970 * 1000))) },
        sleep: { try? await Task.sleep(for: $0) })
}

extension GrowingDelay {
    func duration(afterFailures failures: Int) -> Duration {
        .nanoseconds(delay(afterFailures: failures, random: .random(in: 0...1)).nanoseconds)
    }
}

extension Timestamp {
    /// Later than any time that is stored.
    static let distant = Timestamp(milliseconds: .max)

    /// ISO 8601 with milliseconds, in UTC.
    var text: String {
        // A tenth of a millisecond more, because the format cuts the fraction off, which has no exact value.
        Date(timeIntervalSince1970: (Double(min(milliseconds, 253_402_300_799_999)) + 0.1) / 1000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// Reads ISO 8601 with a time zone; nil for anything else, for times that do not exist, and for those before 1970.
    /// - Parameter isStored: whether the text is from the store. Version 0.2 accepted times that do not exist, such as 30
    ///   February, and what it has stored must stay readable.
    init?(text: String, isStored: Bool = false) {
        guard isStored || CalendarTime.exists(text) else { return nil }
        let date =
            (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
            ?? (try? Date(text, strategy: .iso8601))
        guard let date, (0..<253_402_300_800).contains(date.timeIntervalSince1970) else { return nil }
        // Rounded, because the fraction has no exact value, and a time that was shown has to come back as it was.
        self.init(nearest: date)
    }

    /// The nearest millisecond to a date, which another server may have named: a date before 1970 becomes 1970, and
    /// one beyond the last possible moment becomes that moment.
    init(nearest date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        // The comparisons are false for "not a number" too. Double(UInt64.max) is 2^64, which UInt64 cannot hold.
        guard milliseconds > 0 else { self.init(milliseconds: 0); return }
        // fits: less than 2^64
        self.init(milliseconds: milliseconds < Double(UInt64.max) ? UInt64(milliseconds) : .max)
    }
}
