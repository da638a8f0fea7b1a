import APNSProvider
import Foundation
import Management
import Service
import Testing

@testable import ServiceTesting

/// The report about a client that makes faults on purpose, and about a client that makes none.
@Suite("The report over the wire", .timeLimit(.minutes(2))) struct ReportWireTests {
    private static func findings(_ test: TestService, _ query: String = "") async throws -> [ManagementMessages.Finding]
    {
        let report: ManagementMessages.Report = try await test.administer("GET", "/v1/reports" + query)
        return report.findings
    }

    @Test func `A faulty client gets findings with advice, and the requests that show them`() async throws {
        try await TestService.runInMemory { test in
            let token = try await test.makeDeviceToken()
            let good = ProviderHeaders(token, token: try test.providerToken()).adding("apns-push-type", "alert")
            let client = try await test.connectProvider()
            _ = try await client.send(good.fields)
            _ = try await client.send(good.fields)
            _ = try await client.send(good.with("apns-push-type", nil).fields, body: #"{"aps":{},"alert":"Hello"}"#)
            for _ in 0..<2 {
                _ = try await client.send(good.with("apns-priority", "7").fields, body: #"{"aps":{"badge":1}}"#)
            }
            await client.close()
            let findings = try await Self.findings(test)
            #expect(
                findings.map(\.id) == [
                    "rejected-sent-again", "identical-notifications", "push-type-missing", "payload-keys-misplaced",
                ])
            #expect(findings.map(\.requests) == [[5], [2], [3], [3]])
            #expect(try await Self.findings(test, "?team=\(required(test.description.key).teamID)") == findings)
            #expect(try await Self.findings(test, "?team=ZZZZZZZZZZ") == [])
        }
    }

    @Test func `An update with the token that starts Live Activities is found`() async throws {
        try await TestService.runInMemory { test in
            let device = try await test.connectRegistered().client
            func token(_ path: String) async throws -> String {
                let answer = try await device.send(TestService.deviceHeaders("PUT", path), body: "")
                return try required(JSONDecoder().decode([String: String].self, from: Data(answer.body.utf8))["token"])
            }
            let start = try await token("/1/apps/\(test.bundleID)/liveactivity")
            let own = try await token("/1/apps/\(test.bundleID)/liveactivity/0b1e5b4a-9c0c-4d5e-8f00-0123456789ab")
            let client = try await test.connectProvider()
            let jwt = try test.providerToken()
            for (token, event) in [(start, "start"), (own, "update"), (start, "update"), (own, "start")] {
                let headers = ProviderHeaders(token, topic: test.bundleID + ".push-type.liveactivity", token: jwt)
                    .with("apns-push-type", "liveactivity")
                let answer = try await client.send(
                    headers.fields, body: #"{"aps":{"event":"\#(event)","timestamp":1800000000,"content-state":{}}}"#)
                #expect(answer.status == 200)
            }
            let findings = try await Self.findings(test).filter { $0.id == "live-activity-token" }
            #expect(findings.map(\.requests) == [[3, 4]])
            for client in [client, device] { await client.close() }
        }
    }

    @Test func `A notification that a rehearsal left unprocessed is lost if the client does not send it again`()
        async throws
    {
        try await TestService.runInMemory { test in
            let token = try await test.makeDeviceToken()
            let headers = ProviderHeaders(token, token: try test.providerToken()).adding("apns-push-type", "alert")
            let begun = try await test.ask(
                "POST", "/v1/rehearsals",
                body: #"{"rules":[{"when":{"first":1},"fault":{"reset":"REFUSED_STREAM"}},"#
                    + #"{"name":"never","when":{"after":9},"fault":{"hang":true}}]}"#)
            #expect(begun.status == 200)
            let client = try await test.connectProvider()
            #expect(try await client.send(headers.fields).status == 0)
            #expect(try await Self.findings(test).map(\.id) == ["unprocessed-lost", "rule-never-fired"])
            #expect(try await client.send(headers.fields).status == 200)
            #expect(try await Self.findings(test).map(\.id) == ["rule-never-fired"])
            await client.close()
        }
    }

    @Test func `What came above the last stream of a GOAWAY is lost if the client does not send it again`()
        async throws
    {
        try await TestService.runInMemory { test in
            let token = try await test.makeDeviceToken()
            let headers = ProviderHeaders(token, token: try test.providerToken()).adding("apns-push-type", "alert")
            let begun = try await test.ask(
                "POST", "/v1/rehearsals", body: #"{"rules":[{"when":{"first":1},"fault":{"goAway":{}}}]}"#)
            #expect(begun.status == 200)
            let client = try await HandmadeClient(test)
            // It does not end, so the connection stays open after the GOAWAY.
            try await client.begin(headers.fields)
            #expect(try await client.isAnsweredBeforeGoAway(headers.fields))
            // As if the GOAWAY had not come yet.
            let bodies = (1...3).map { #"{"aps":{"alert":"Late \#($0)"}}"# }
            for body in bodies { try await client.sendOnly(headers.fields, body: body) }
            await client.close()
            var texts: [String] = []
            while texts.isEmpty { texts = try await Self.lostAtGoAway(test) }
            #expect(texts.map { $0.prefix(16) } == ["3 notifications "])
            let other = try await test.connectProvider()
            for body in bodies.dropLast() { #expect(try await other.send(headers.fields, body: body).status == 200) }
            #expect(try await Self.lostAtGoAway(test).map { $0.prefix(16) } == ["1 notifications "])
            #expect(try await other.send(headers.fields, body: bodies[2]).status == 200)
            #expect(try await Self.findings(test) == [])
            await other.close()
        }
    }

    private static func lostAtGoAway(_ test: TestService) async throws -> [String] {
        try await findings(test).filter { $0.id == "goaway-never-resent" }.map(\.text)
    }

    @Test func `Our own provider library gets no findings, even in trouble`() async throws {
        try await TestService.runInMemory { test in
            let key = try required(test.description.key)
            let begun = try await test.ask(
                "POST", "/v1/rehearsals",
                body: #"{"rules":[{"when":{"first":1},"fault":{"goAway":{}}}]}"#)
            #expect(begun.status == 200)
            var tokens: [DeviceToken] = []
            for _ in 0..<3 { tokens.append(try required(DeviceToken(try await test.makeDeviceToken()))) }
            try await ProviderClient.withClient(
                credentials: ProviderCredentials(keyFile: key.path, keyID: key.keyID, teamID: key.teamID),
                environment: .custom(
                    url: "https://127.0.0.1:\(test.port(\.provider))", authority: .file(test.description.ca)),
            ) { client in
                for (number, token) in tokens.enumerated() {
                    let notification = try PushNotification(
                        topic: test.bundleID, APS(alert: .init(body: "Hello \(number)")))
                    _ = try await client.send(notification, to: token)
                }
            }
            #expect(try await Self.findings(test) == [])
        }
    }

    /// By the machine's clock, the second provider token was made half a minute after the first one.
    @Test(arguments: [true, false])
    func `A client that renews its provider token after an advance gets no findings`(_ isTeamClock: Bool) async throws {
        try await TestService.run {
            $0.store = .memory
            $0.clock = .virtual
        } _: { test in
            let (token, now) = (try await test.makeDeviceToken(), Date())
            let team = try required(test.description.key).teamID
            let client = try await test.connectProvider()
            func send(_ alert: String, issued: Date) async throws -> String? {
                let headers = ProviderHeaders(token, token: try test.providerToken(issuedAt: issued))
                    .adding("apns-push-type", "alert")
                return try await client.send(headers.fields, body: #"{"aps":{"alert":"\#(alert)"}}"#).reason
            }
            #expect(try await send("One", issued: now.addingTimeInterval(-30)) == nil)
            let advance = #"{"advance":"PT1H"\#(isTeamClock ? #","team":"\#(team)""# : "")}"#
            #expect(try await test.ask("POST", "/v1/clock", body: advance).status == 200)
            #expect(try await send("Two", issued: now.addingTimeInterval(-30)) == "ExpiredProviderToken")
            // Not the moment of the advance or before it, so that it counts as made after it.
            #expect(try await send("Two", issued: Date()) == nil)
            #expect(try await Self.findings(test) == [])
            #expect(try await Self.findings(test, "?team=\(team)") == [])
            await client.close()
        }
    }

    @Test func `Without the journal there is no report`() async throws {
        try await TestService.run { test in
            let answer = try await test.ask("GET", "/v1/reports")
            #expect(answer.status == 409)
            #expect(answer.text.contains("/v1/journal"))
            #expect(try await test.ask("GET", "/v1/reports?team=a%20b").status == 400)
        }
    }
}
