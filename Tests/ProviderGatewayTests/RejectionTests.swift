import Foundation
import Notifications
import Testing

@testable import ServiceTesting

/// All reasons of the Guide's Table 8-6 and newer ones. Each is given over the wire, with its exact status, headers
/// and body.
@Suite(.timeLimit(.minutes(5)))
struct RejectionTests {
    /// All reasons except two groups: ExpiredToken, which is given for virtual devices only
    /// (docs/decisions/0012-expired-token.md), and the reasons for broadcast channels, which other tests check.
    static let given = Rejection.Reason.allCases.filter {
        $0 != .expiredToken && !Rejection.Reason.ofChannels.contains($0)
    }

    private static let id = "8B1E5B4A-9C0C-4D5E-8F00-0123456789AB"

    @Test(arguments: given, Environment.allCases)
    func `Each rejection has the documented status and reason`(
        reason: Rejection.Reason, environment: Environment
    ) async throws {
        try await RejectionSituation.provoke(reason, in: environment, id: Self.id) { _, _, answer in
            #expect(answer.status == reason.row.status)
            #expect(Set(answer.headers.keys) == [":status", "apns-id", "content-type"])
            #expect(answer.headers["content-type"] == ["application/json"])
            let id = try required(answer.headers["apns-id"])
            #expect(id.count == 1 && UUID(uuidString: id[0]) != nil)
            // The answer has the request's identifier. If the request has none, or an invalid one, it has a new one.
            #expect((id[0] == Self.id) == (reason != .badMessageID))
            let parsed = try JSONSerialization.jsonObject(with: Data(answer.body.utf8))
            var body = try required(parsed as? [String: any Sendable])
            #expect(body.removeValue(forKey: "reason") as? String == reason.rawValue)
            let detail = body.removeValue(forKey: "detail") as? String
            #expect((detail == nil) == (environment == .production || reason == .shutdown))
            let timestamp = body.removeValue(forKey: "timestamp") as? Int
            #expect((timestamp == nil) == (answer.status != 410))
            #expect(body.isEmpty)
        }
    }
}
