import CommonTesting
import Foundation
import HTTP2
import Management
import NIOHTTP1
import Notifications
import Service
import Synchronization
import Testing

@testable import ServiceTesting

/// Every fault of a rehearsal, as a provider sees it over real TLS and HTTP/2.
@Suite("A rehearsal over the wire", .timeLimit(.minutes(2))) struct RehearsalWireTests {
    private static let id = "00000000-0000-4000-8000-000000000001"

    private static func begin(_ rules: String, seed: Int = 0, _ test: TestService) async throws -> String {
        let answer = try await test.ask("POST", "/v1/rehearsals", body: #"{"seed":\#(seed),"rules":[\#(rules)]}"#)
        #expect(answer.status == 200, "\(answer.text)")
        return try JSONDecoder().decode(ManagementMessages.RehearsalBegun.self, from: answer.body).rehearsal
    }

    private static func rules(_ id: String, _ test: TestService) async throws -> [ManagementMessages.RehearsalRule] {
        let rehearsal: ManagementMessages.Rehearsal = try await test.administer("GET", "/v1/rehearsals/\(id)")
        return rehearsal.rules
    }

    /// Waits until the delivery log has events about a notification, and returns them.
    private static func events(of id: String = id, _ test: TestService) async throws -> [String] {
        try await firstValue {
            let text = try await test.ask("GET", "/v1/log?id=\(id)").text
            let events = text.matches(of: /"event":"(\w+)"/).map { String($0.1) }
            return events.contains("accepted") ? events : nil
        }
    }

    /// Runs a service with an offline device, and makes the headers of a push to it.
    private static func run(
        _ rules: String,
        _ body: (TestService, ProviderHeaders, String) async throws -> Void,
    ) async throws {
        try await TestService.run { test in
            let headers = ProviderHeaders(try await test.makeDeviceToken(), token: try test.providerToken())
                .adding("apns-id", id)
            let rehearsal = try await begin(rules, test)
            try await body(test, headers, rehearsal)
        }
    }

    @Test func `An answer replaces the acceptance`() async throws {
        let fault = #"{"fault":{"answer":{"reason":"ServiceUnavailable","retryAfter":7}}}"#
        try await Self.run(fault) { test, headers, rehearsal in
            let client = try await test.connectProvider()
            let answer = try await client.send(headers.fields)
            #expect(answer.status == 503)
            #expect(answer.reason == "ServiceUnavailable")
            #expect(answer.headers["retry-after"] == ["7"])
            #expect(answer.headers["apns-id"] == [Self.id])
            _ = try await test.ask("DELETE", "/v1/rehearsals/\(rehearsal)")
            // The same notification is accepted now, and was not before.
            #expect(try await client.send(headers.fields).status == 200)
            #expect(try await Self.events(test).filter { $0 == "accepted" } == ["accepted"])
            await client.close()
        }
    }

    @Test func `A notification can be accepted in spite of an error answer`() async throws {
        let fault = #"{"fault":{"answer":{"reason":"InternalServerError"},"accepted":true}}"#
        try await Self.run(fault) { test, headers, _ in
            let client = try await test.connectProvider()
            #expect(try await client.send(headers.fields).status == 500)
            #expect(try await Self.events(test).contains("accepted"))
            await client.close()
        }
    }

    @Test func `A 410 has the given timestamp, or the present time`() async throws {
        let fault =
            #"{"when":{"first":1},"fault":{"answer":{"reason":"Unregistered","timestamp":1234567890123}}},"#
            + #"{"fault":{"answer":{"reason":"ExpiredToken"}}}"#
        try await Self.run(fault) { test, headers, _ in
            let client = try await test.connectProvider()
            let first = try await client.send(headers.fields)
            #expect(first.status == 410)
            #expect(first.body.contains(#""timestamp":1234567890123"#))
            let second = try await client.send(headers.fields)
            #expect(second.reason == "ExpiredToken")
            #expect(second.body.contains(#""timestamp":"#))
            await client.close()
        }
    }

    @Test func `An answer lacks the header that only the development environment has`() async throws {
        try await Self.run(#"{"when":{"first":1},"fault":{"omit":"apns-unique-id"}}"#) { test, headers, _ in
            let client = try await test.connectProvider()
            let answer = try await client.send(headers.fields)
            #expect(answer.status == 200 && answer["apns-id"] == Self.id && answer["apns-unique-id"] == nil)
            #expect(try await client.send(headers.fields)["apns-unique-id"] != nil)
            await client.close()
        }
    }

    @Test func `GOAWAY is sent after the given number of further answers`() async throws {
        let fault = #"{"when":{"first":1},"fault":{"goAway":{"reason":"Shutdown","after":2}}}"#
        try await Self.run(fault) { test, headers, _ in
            let client = try await test.connectProvider()
            for _ in 0..<3 { #expect(try await client.send(headers.fields).status == 200) }
            try await client.goneAway()
            #expect(try await client.goAways() == [#"{"reason":"Shutdown"}"#])
            let other = try await test.connectProvider()
            #expect(try await other.send(headers.fields).status == 200)
            await other.close()
        }
    }

    /// Clients with python-h2 refuse every frame after a GOAWAY.
    @Test(arguments: [true, false])
    func `GOAWAY comes after the whole answer of the request that it is for`(_ isGood: Bool) async throws {
        try await Self.run(#"{"when":{"first":1},"fault":{"goAway":{"reason":"IdleTimeout"}}}"#) { test, headers, _ in
            let client = try await HandmadeClient(test)
            let request = isGood ? headers : headers.with("apns-topic", "com.example.unknown")
            #expect(try await client.isAnsweredBeforeGoAway(request.fields))
            await client.close()
        }
    }

    @Test func `GOAWAY has its reason`() async throws {
        try await Self.run(#"{"when":{"first":1},"fault":{"goAway":{"reason":"IdleTimeout"}}}"#) { test, headers, _ in
            let client = try await test.connectProvider()
            #expect(try await client.send(headers.fields).status == 200)
            #expect(try await client.goAways() == [#"{"reason":"IdleTimeout"}"#])
        }
    }

    @Test(arguments: [("REFUSED_STREAM", HTTP2ErrorCode.refusedStream), ("CANCEL", .cancel)])
    func `A stream is reset`(_ name: String, _ code: HTTP2ErrorCode) async throws {
        try await Self.run(#"{"when":{"first":1},"fault":{"reset":"\#(name)"}}"#) { test, headers, _ in
            let client = try await test.connectProvider()
            let answer = try await client.send(headers.fields)
            #expect(answer.status == 0)
            #expect(answer.error == code)
            // The connection goes on.
            #expect(try await client.send(headers.fields).status == 200)
            #expect(try await Self.events(test).filter { $0 == "accepted" } == ["accepted"])
            await client.close()
        }
    }

    @Test(arguments: ["fin", "rst"], [false, true])
    func `A connection breaks before acceptance, or after it`(_ kind: String, _ isAccepted: Bool) async throws {
        let accepted = isAccepted ? #","accepted":true"# : ""
        try await Self.run(#"{"when":{"first":1},"fault":{"close":"\#(kind)"\#(accepted)}}"#) { test, headers, _ in
            let client = try await test.connectProvider()
            #expect(try await client.send(headers.fields).status == 0)
            #expect(try await client.goAways() == [])
            if isAccepted {
                #expect(try await Self.events(test).contains("accepted"))
            } else {
                let other = try await test.connectProvider()
                #expect(try await other.send(headers.fields).status == 200)
                #expect(try await Self.events(test).filter { $0 == "accepted" } == ["accepted"])
                await other.close()
            }
        }
    }

    /// The report finds what was discarded and never sent again.
    @Test(arguments: ["fin", "rst"])
    func `What came together with the request that breaks the connection is not pending for ever`(
        kind: String
    ) async throws {
        try await TestService.runInMemory { test in
            let token = try await test.makeDeviceToken()
            let ids = (1...5).map { "00000000-0000-4000-8000-00000000000\($0)" }
            _ = try await Self.begin(#"{"match":{"apnsID":"\#(ids[2])"},"fault":{"close":"\#(kind)"}}"#, test)
            let client = try await WireClient.connect(
                port: test.port(\.provider), authorityFile: test.description.ca,
                certificate: try await test.makeCertificate(),
                burst: ids.map { ProviderHeaders(token, token: nil).adding("apns-id", $0).fields })
            #expect(try await client.burst().dropFirst(2).allSatisfy { $0.status == 0 })
            let outcomes = try await firstValue {
                let outcomes = try await test.requests().map { $0["outcome"] as? String }
                return outcomes.count >= 3 && !outcomes.contains("pending") ? outcomes : nil
            }
            #expect(outcomes[2] == "dropped")
        }
    }

    @Test func `A request hangs, and those after it are answered`() async throws {
        try await Self.run(#"{"match":{"apnsID":"\#(Self.id)"},"fault":{"hang":true}}"#) { test, headers, _ in
            let client = try await test.connectProvider()
            // A valid provider token allows a second stream on the connection.
            let hanging = try await client.open(headers.fields, endStream: false)
            try await hanging.write(#"{"aps":{"alert":"Hello"}}"#)
            async let hung = hanging.finish()
            try await client.announced(1000)
            #expect(try await client.send(headers.with("apns-id", nil).fields).status == 200)
            await client.close()
            #expect(try await hung.status == 0)
        }
    }

    @Test func `An answer is late, and later ones overtake it`() async throws {
        try await Self.run(#"{"match":{"apnsID":"\#(Self.id)"},"fault":{"delay":"PT1S"}}"#) { test, headers, _ in
            let order = Mutex<[String]>([])
            let client = try await test.connectProvider()
            let late = try await client.open(headers.fields, endStream: false)
            try await late.write(#"{"aps":{"alert":"Hello"}}"#)
            async let answer = {
                let answer = try await late.finish()
                order.withLock { $0.append("late") }
                return answer
            }()
            try await client.announced(1000)
            #expect(try await client.send(headers.with("apns-id", nil).fields).status == 200)
            order.withLock { $0.append("prompt") }
            #expect(try await answer.status == 200)
            #expect(order.withLock { $0 } == ["prompt", "late"])
            await client.close()
        }
    }

    @Test func `A notification is lost in spite of its 200`() async throws {
        try await Self.run(#"{"when":{"first":1},"fault":{"lose":true}}"#) { test, headers, _ in
            let client = try await test.connectProvider()
            #expect(try await client.send(headers.fields).status == 200)
            let other = "00000000-0000-4000-8000-000000000002"
            #expect(try await client.send(headers.with("apns-id", other).fields).status == 200)
            // The next notification is in the log, and the lost one is not.
            #expect(try await Self.events(of: other, test).contains("accepted"))
            #expect(try await test.ask("GET", "/v1/log?id=\(Self.id)").text.isEmpty)
            await client.close()
        }
    }

    @Test func `A notification is delivered twice`() async throws {
        try await TestService.run { test in
            let device = try await test.connectCourier(try await test.makeDeviceCertificate())
            func headers(_ method: String, _ path: String) -> [(String, String)] {
                [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
            }
            let registered = try await device.send(headers("PUT", "/1/apps/com.example.app"), body: "")
            let token = try required(registered.body.split(separator: "\"").dropFirst(3).first.map(String.init))
            let stream = try await device.open(headers("GET", "/1/notifications"), endStream: true)
            _ = try await device.send(headers("POST", "/1/state"), body: #"{"power":"awake"}"#)
            _ = try await Self.begin(#"{"fault":{"duplicate":2}}"#, test)
            let provider = try await test.connectProvider()
            let push = ProviderHeaders(token, token: try test.providerToken()).adding("apns-id", Self.id)
            #expect(try await provider.send(push.fields).status == 200)
            for _ in 0..<2 { #expect(try required(try await stream.nextLine()).contains(Self.id)) }
            await provider.close()
            await device.close()
        }
    }

    @Test func `The number of streams is reduced to one, and stays`() async throws {
        let fault = #"{"when":{"first":1},"fault":{"settings":{"maxConcurrentStreams":1}}}"#
        try await Self.run(fault) { test, headers, _ in
            let client = try await test.connectProvider()
            #expect(try await client.send(headers.fields).status == 200)
            try await client.announced(1)
            #expect(try await client.send(headers.fields).status == 200)
            #expect(try await client.announcements().last == 1)
            await client.close()
        }
    }

    @Test func `Connections are refused`() async throws {
        let fault = #"{"name":"no","match":{"protocol":"h2"},"when":{"first":1},"fault":{"refuse":true}}"#
        try await Self.run(fault) { test, headers, rehearsal in
            let refused = try await test.connectProvider()
            #expect(await !refused.isServed(headers.fields))
            let client = try await test.connectProvider()
            #expect(try await client.send(headers.fields).status == 200)
            let rule = try required(try await Self.rules(rehearsal, test).first)
            #expect(rule.matched == 2)
            #expect(rule.fired == 1)
            await client.close()
        }
    }

    @Test func `Requests that the gateway rejects are rehearsed too, and a match can select them`() async throws {
        let fault = #"{"name":"rejected","match":{"status":400},"fault":{"answer":{"reason":"Shutdown"}}}"#
        try await Self.run(fault) { test, headers, rehearsal in
            let client = try await test.connectProvider()
            #expect(try await client.send(headers.fields).status == 200)
            let bad = headers.with("apns-topic", "com.example.unknown")
            #expect(try await client.send(bad.fields).reason == "Shutdown")
            #expect(try required(try await Self.rules(rehearsal, test).first).matched == 1)
            await client.close()
        }
    }

    // MARK: The API

    @Test func `An invalid document is refused as a whole`() async throws {
        try await TestService.run { test in
            let answer = try await test.ask(
                "POST", "/v1/rehearsals",
                body: #"{"rules":[{"fault":{"hang":true}},{"fault":{"answer":{"reason":"Nonsense"}}}]}"#)
            #expect(answer.status == 400)
            #expect(answer.problem?["pointer"] as? String == "/rules/1/fault/answer/reason")
            #expect((answer.problem?["detail"] as? String)?.contains("ServiceUnavailable") == true)
            #expect(try await test.ask("GET", "/v1/rehearsals").text == "[]")
        }
    }

    @Test func `Rehearsals are listed, shown and ended`() async throws {
        try await TestService.run { test in
            let first = try await Self.begin(#"{"name":"a","fault":{"hang":true}}"#, test)
            let second = try await Self.begin(#"{"name":"b","fault":{"hang":true}}"#, test)
            let page = try await test.ask("GET", "/v1/rehearsals?limit=1")
            #expect(page.text.contains(first) && !page.text.contains(#""b""#))
            #expect(page.headers.first(name: "link") == "</v1/rehearsals?limit=1&after=\(first)>; rel=\"next\"")
            let rest: [ManagementMessages.Rehearsal] = try await test.administer(
                "GET", "/v1/rehearsals?after=\(first)")
            #expect(rest.map(\.rehearsal) == [second])
            let ended: ManagementMessages.Rehearsal = try await test.administer("DELETE", "/v1/rehearsals/\(first)")
            #expect(!ended.active && ended.began <= ended.ends)
            // It would have lasted for an hour.
            #expect(try required(rest.first.map { $0.ends - $0.began }) == 3_600_000)
            #expect(ended.ends - ended.began < 3_600_000)
            #expect(try await test.ask("GET", "/v1/rehearsals/r99").status == 404)
            #expect(try await test.ask("DELETE", "/v1/rehearsals/r99").status == 404)
        }
    }

    @Test func `If the development environment is not served there are no rehearsals`() async throws {
        try await TestService.run(environment: .production) {
            $0.environments = [.production]
        } _: { test in
            let body = #"{"rules":[{"fault":{"hang":true}}]}"#
            let answers = [
                try await test.ask("POST", "/v1/rehearsals", body: body), try await test.ask("GET", "/v1/rehearsals"),
            ]
            #expect(answers.map(\.status) == [403, 403])
        }
    }

    @Test func `In production there are no faults`() async throws {
        try await TestService.run(environment: .production) { _ in
        } _: { test in
            _ = try await Self.begin(#"{"fault":{"answer":{"reason":"Shutdown"}}}"#, test)
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(try await test.makeDeviceToken(), token: try test.providerToken())
            #expect(try await client.send(headers.fields).status == 200)
            await client.close()
        }
    }

    // MARK: Determinism

    @Test func `With the same seed, the same requests get faults over 1, 2 and 8 connections`() async throws {
        try await TestService.runInMemory { test in
            let headers = ProviderHeaders(try await test.makeDeviceToken(), token: try test.providerToken())
            // The numbers of the requests that got a fault.
            var fired: [[Int]] = []
            for connections in [1, 2, 8] {
                let rehearsal = try await Self.begin(
                    #"{"when":{"share":0.3},"fault":{"answer":{"reason":"ServiceUnavailable"}}}"#, seed: 7, test)
                let statuses = try await Self.push(headers, times: 64, over: connections, test)
                let rule = try required(try await Self.rules(rehearsal, test).first)
                #expect(rule.matched == 64)
                #expect(statuses.count { $0 == 503 } == Int(rule.fired))
                #expect(statuses.allSatisfy { $0 == 200 || $0 == 503 })
                let journal = try await test.ask("GET", "/v1/requests?limit=1000")
                let requests = try required(JSONSerialization.jsonObject(with: journal.body) as? [[String: Any]])
                #expect(requests.count == 64)
                fired.append(requests.indices.filter { requests[$0]["rule"] != nil })
                #expect(fired.last?.count == Int(rule.fired))
                _ = try await test.ask("DELETE", "/v1/requests")
                _ = try await test.ask("DELETE", "/v1/rehearsals/\(rehearsal)")
            }
            #expect(Set(fired).count == 1)
            #expect(fired[0].count > 5 && fired[0].count < 40)
        }
    }

    @Test func `On one connection the same requests get the faults each time`() async throws {
        try await TestService.run { test in
            let headers = ProviderHeaders(try await test.makeDeviceToken(), token: try test.providerToken())
            var runs: [[Int]] = []
            for _ in 0..<2 {
                let rehearsal = try await Self.begin(
                    #"{"when":{"share":0.3},"fault":{"answer":{"reason":"ServiceUnavailable"}}}"#, seed: 7, test)
                runs.append(try await Self.push(headers, times: 64, over: 1, test))
                _ = try await test.ask("DELETE", "/v1/rehearsals/\(rehearsal)")
            }
            #expect(runs[0] == runs[1])
        }
    }

    /// Sends this many requests, one after the other on each connection.
    private static func push(
        _ headers: ProviderHeaders,
        times: Int,
        over connections: Int,
        _ test: TestService,
    ) async throws -> [Int] {
        try await withThrowingTaskGroup(of: [Int].self) { group in
            for _ in 0..<connections {
                let client = try await test.connectProvider()
                let fields = headers.fields
                group.addTask {
                    var statuses: [Int] = []
                    for _ in 0..<(times / connections) { statuses.append(try await client.send(fields).status) }
                    await client.close()
                    return statuses
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }
}
