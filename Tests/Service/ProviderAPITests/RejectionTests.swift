import Foundation
import Notifications
import Testing

@testable import ServiceTesting

/// All ways in which the provider API rejects a request (Guide, Table 8-6, and newer reasons), over the wire.
@Suite struct RejectionTests {
    /// Requests that are rejected for what they contain.
    @Suite(.gateway, .timeLimit(.minutes(5))) struct FaultyRequests {
        private static let id = "8B1E5B4A-9C0C-4D5E-8F00-0123456789AB"

        @Test(arguments: RejectionTable.rows, Environment.allCases)
        func `Are answered with the documented status and reason`(
            request: FaultyRequest, environment: Environment,
        ) async throws {
            let situation = try ProviderSituation.current
            var push = try situation.push(environment)
            try request.spoil(&push, situation, environment)
            let answer = try await situation.send(push, to: environment)
            try expect(answer, isRejection: request.reason, status: request.status, in: environment)
        }

        @Test(arguments: Environment.allCases)
        func `Get their identifier back as it was sent`(environment: Environment) async throws {
            let situation = try ProviderSituation.current
            var push = try situation.push(environment)
            push["apns-id"] = Self.id
            push["apns-priority"] = "7"
            let answer = try await situation.send(push, to: environment)
            #expect((answer.status, answer["apns-id"]) == (400, Self.id))
        }

        @Test func `Are told in the detail what is wrong with them`() async throws {
            let situation = try ProviderSituation.current
            var push = try situation.push(.development)
            push["apns-collapse-id"] = String(repeating: "x", count: 65)
            let answer = try await situation.send(push)
            #expect(answer.body.contains(#""detail":"apns-collapse-id is 65 bytes; at most 64 are allowed.""#))
        }

        @Test func `Do not end the connection`() async throws {
            let situation = try ProviderSituation.current
            let connection = try await situation.connect()
            var bad = try situation.push(.development)
            bad["apns-priority"] = "7"
            #expect(try await connection.send(bad).status == 400)
            #expect(try await connection.send(try situation.push(.development)).status == 200)
            await connection.close()
        }

        @Test func `With another team's token on the same connection are rejected`() async throws {
            let situation = try ProviderSituation.current
            let connection = try await situation.connect()
            #expect(try await connection.send(try situation.push(.development)).status == 200)
            let other = try WirePush(
                token: try situation.token(.development), topic: ProviderSituation.otherBundleID,
                from: situation.otherTeam)
            let answer = try await connection.send(other)
            #expect((answer.status, answer.reason) == (403, "InvalidProviderToken"))
            await connection.close()
        }

        @Test func `With a body that is too long are answered before its end`() async throws {
            let situation = try ProviderSituation.current
            let connection = try await situation.connect()
            var push = try situation.push(.development)
            push.payload(bytes: 4097)
            let answer = try await connection.send(push, ends: false)
            #expect((answer.status, answer.reason) == (413, "PayloadTooLarge"))
            #expect(answer["apns-id"] != nil)
            await connection.close()
        }
    }

    /// Requests that are rejected for the state of the service, of the connection or of the accounts.
    @Suite(.timeLimit(.minutes(5))) struct Situations {
        private static let id = "8B1E5B4A-9C0C-4D5E-8F00-0123456789AB"

        @Test(arguments: RejectionSituation.reasons, Environment.allCases)
        func `Give the documented status and reason`(
            reason: Rejection.Reason, environment: Environment,
        ) async throws {
            try await RejectionSituation.provoke(reason, in: environment, id: Self.id) { _, _, answer in
                try expect(
                    answer, isRejection: reason.rawValue, status: reason.row.status,
                    hasDetail: reason != .shutdown, in: environment)
                #expect(answer["apns-id"] == Self.id)
            }
        }
    }

    /// The reasons that only requests about broadcast channels can get (docs/channels.md).
    private static let reasonsOfChannels: [Rejection.Reason] = [
        .featureNotEnabled, .missingChannelID, .badChannelID, .channelNotRegistered, .cannotCreateChannelConfig,
        .missingPushType, .badRequestPayload, .badRequestParams, .topicMismatch,
    ]

    /// ExpiredToken is for Live Activities and virtual devices (docs/decisions/0012-expired-token.md). Other tests check
    /// it, and the reasons for broadcast channels.
    @Test func `Every reason of the table is given by a request or in a situation`() {
        let given = Set(RejectionTable.rows.map(\.reason)).union(RejectionSituation.reasons.map(\.rawValue))
        let expected = Rejection.Reason.allCases
            .filter { $0 != .expiredToken && !Self.reasonsOfChannels.contains($0) }.map(\.rawValue)
        #expect(given == Set(expected))
    }
}

/// Checks all of a rejection.
/// - Parameter hasDetail: whether the rejection has a detail in development.
private func expect(
    _ answer: WireClient.Answer, isRejection reason: String, status: Int, hasDetail: Bool = true,
    in environment: Environment,
) throws {
    #expect(answer.status == status)
    #expect(Set(answer.headers.keys) == [":status", "apns-id", "content-type"])
    #expect(answer.headers["content-type"] == ["application/json"])
    let id = try required(answer.headers["apns-id"])
    #expect(id.count == 1 && UUID(uuidString: id[0]) != nil)
    let parsed = try JSONSerialization.jsonObject(with: Data(answer.body.utf8))
    let body = try required(parsed as? [String: any Sendable])
    #expect(body["reason"] as? String == reason)
    var keys: Set<String> = ["reason"]
    if environment == .development, hasDetail { keys.insert("detail") }
    if status == 410 { keys.insert("timestamp") }
    #expect(Set(body.keys) == keys)
}
