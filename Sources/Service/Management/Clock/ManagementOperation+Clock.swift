import Delivery
import Foundation
package import HTTPAPI
import Hummingbird
import Matching
import Notifications

// Reads and advances the service's clock.
extension ManagementOperations {
    static let clock = [
        ManagementOperation(
            method: .get, path: "/v1/clock", summary: "The service's time, or a team's",
            parameters: [.query("team", .string(.accountID), "The team whose clock it is.")],
            answer: .json(ManagementMessages.ClockReading.schema), problems: [404]
        ) { api, call in
            .json(try api.clock(of: call.query("team")))
        },
        ManagementOperation(
            method: .post, path: "/v1/clock", summary: "Advance the virtual clock, or a team's own",
            body: Body(reading: ManagementMessages.ClockAdvance.schema),
            answer: .json(ManagementMessages.ClockReading.schema),
            problems: [404, 409, 413, 415]
        ) { api, call in
            .json(try await api.advanceClock(try call.message()))
        },
    ]
}

extension ManagementAPI {
    /// - Parameter team: the team's ID; nil for the service's clock.
    fileprivate func clock(of team: String?) throws -> ManagementMessages.ClockReading {
        guard let team else { return ManagementMessages.ClockReading(parts.clock.time) }
        return ManagementMessages.ClockReading(parts.clock.time(of: try existingTeam(team)))
    }

    private func existingTeam(_ name: String) throws -> TeamID {
        let id = try teamID(name)
        guard accounts.current.teams[id] != nil else { throw Problem.notFound("There is no team \(id).") }
        return id
    }

    /// Advances the clock, and returns after the service has done everything that became due.
    func advanceClock(_ request: ManagementMessages.ClockAdvance) async throws -> ManagementMessages.ClockReading {
        guard let duration = Duration(iso8601: request.advance) else {
            throw Problem.invalid("/advance", "The value has to be \(TextFormat.duration.name).")
        }
        let team = try request.team.map(existingTeam)
        do throws(ServiceClock.AdvanceError) {
            return ManagementMessages.ClockReading(try await parts.advance(duration, team))
        } catch {
            switch error {
            case .isSystem:
                throw Problem(409, "This service has the system's clock; start it with --clock virtual.")
            case .tooFar:
                throw Problem.invalid("/advance", "All advances together may have 100 years of 365 days.")
            }
        }
    }
}

extension ManagementMessages {
    package struct ClockAdvance: JSONMessage {
        package let advance: String
        package let team: String?

        package init(advance: String, team: String? = nil) { (self.advance, self.team) = (advance, team) }

        package static let form: JSONForm<ClockAdvance> = .object(
            "ClockAdvance", ClockAdvance.init,
            .required("advance", .text(.duration), \.advance, "How far the clock goes forward."),
            .optional(
                "team", .text(.accountID), \.team, "The team whose own clock it is; without it, the service's."))
    }

    package struct ClockReading: JSONMessage {
        package let now: String

        package static let form: JSONForm<ClockReading> = .object(
            "ClockReading", ClockReading.init(now:),
            .required("now", .text(.any), \.now, "The clock's time, ISO 8601 in UTC."))
    }
}

extension ManagementMessages.ClockReading {
    init(_ time: Timestamp) {
        let date = Date(timeIntervalSince1970: Double(time.milliseconds) / 1000)
        self.init(now: date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }
}
