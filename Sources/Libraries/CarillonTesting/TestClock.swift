public import Foundation
import Matching
import Notifications

/// The clock of a ``TestTeam``. It runs like the machine's, and can be advanced. Other teams' clocks are not affected.
public struct TestClock: Sendable {
    /// Nil for the service's clock.
    let team: String?
    let management: ManagementCalls

    private struct Reading: Decodable {
        let now: String

        var date: Date {
            get throws(TestAPNsError) {
                guard let date = try? Date(now, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
                else { throw TestAPNsError(.refused, "The service's time cannot be read: \(now)") }
                return date
            }
        }
    }

    /// The team's time.
    public var now: Date {
        get async throws(TestAPNsError) {
            let query = team.map { "?team=\($0.percentEncoded)" } ?? ""
            let reading: Reading = try await management.ask("GET", "/v1/clock" + query)
            return try reading.date
        }
    }

    /// Advances the clock. When this returns, everything that became due has happened.
    /// - Throws: ``TestAPNsError/Code/refused`` if the service has no virtual clock, or if the duration is negative.
    @discardableResult
    public func advance(by duration: Duration) async throws(TestAPNsError) -> Date {
        var question = ["advance": duration.iso8601]
        question["team"] = team
        let reading: Reading = try await management.ask("POST", "/v1/clock", question)
        return try reading.date
    }
}
