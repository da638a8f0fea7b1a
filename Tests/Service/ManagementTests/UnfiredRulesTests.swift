import Foundation
import Service
import Testing

@testable import ServiceTesting

/// The finding `rule-never-fired` is in the reports of the teams that it may concern.
@Suite("A rule that never fired", .timeLimit(.minutes(2)))
struct UnfiredRulesTests {
    /// The rules in a report.
    private static func rules(_ query: String, _ test: TestService) async throws -> [String] {
        let report = try await test.ask("GET", "/v1/reports\(query)")
        let findings = try required(report.problem?["findings"] as? [[String: Any]])
        return findings.filter { $0["id"] as? String == "rule-never-fired" }
            .compactMap { ($0["text"] as? String)?.split(separator: " ").dropFirst(2).first.map(String.init) }
    }

    private static func send(_ team: String, _ test: TestService) async throws {
        let fixture = #"{"teams":[{"teamID":"\#(team)","apps":["com.example.\#(team)"],"devices":[{"name":"phone"}]}]}"#
        let made = try MadeFixture(try await test.ask("POST", "/v1/fixtures", body: fixture))
        let client = try await test.connectProvider()
        let bundleID = "com.example.\(team)"
        let (_, token) = try made.device("phone", bundleID: bundleID)
        let headers = ProviderHeaders(token, topic: bundleID, token: try made.providerToken())
        #expect(try await client.send(headers.fields).status == 200)
        await client.close()
    }

    @Test func `A team's report has the rules that name it, and unnamed ones only if nobody else has sent`()
        async throws
    {
        try await TestService.runInMemory { test in
            try await Self.send("ABCDE12345", test)
            let rehearsal = """
                {"rules":[
                    {"name":"mine","match":{"team":"ABCDE12345"},"when":{"after":100},"fault":{"hang":true}},
                    {"name":"theirs","match":{"team":"ABCDE12346"},"when":{"after":100},"fault":{"hang":true}},
                    {"name":"everybody","when":{"after":100},"fault":{"hang":true}}
                ]}
                """
            #expect(try await test.ask("POST", "/v1/rehearsals", body: rehearsal).status == 200)
            #expect(try await Self.rules("?team=ABCDE12345", test) == ["mine", "everybody"])
            try await Self.send("ABCDE12346", test)
            #expect(try await Self.rules("?team=ABCDE12345", test) == ["mine"])
            #expect(try await Self.rules("?team=ABCDE12346", test) == ["theirs"])
            #expect(try await Self.rules("", test) == ["mine", "theirs", "everybody"])
        }
    }
}
