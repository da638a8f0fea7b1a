public import Foundation
import Management
import Matching
import Notifications

/// The clock of a ``TestTeam``. It runs like the machine's, and can be advanced. Other teams' clocks are not affected.
public struct TestClock: Sendable {
    /// Nil for the service's clock.
    let team: String?
    let management: ManagementCalls

    /// The team's time.
    public var now: Date {
        get async throws(TestAPNsError) {
            let query = team.map { "?team=\($0.percentEncoded)" } ?? ""
            return try Self.date(try await management.ask("GET", "/v1/clock" + query))
        }
    }

    /// Advances the clock. When this returns, everything that became due has happened.
    /// - Throws: ``TestAPNsError/Code/refused`` if the service has no virtual clock, or if the duration is negative.
    @discardableResult
    public func advance(by duration: Duration) async throws(TestAPNsError) -> Date {
        let question = ManagementMessages.ClockAdvance(advance: duration.iso8601, team: team)
        return try Self.date(try await management.ask("POST", "/v1/clock", question))
    }

    private static func date(_ reading: ManagementMessages.ClockReading) throws(TestAPNsError) -> Date {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        guard let date = try? Date(reading.now, strategy: style) else {
            throw TestAPNsError(.refused, "The service's time cannot be read: \(reading.now)")
        }
        return date
    }
}
