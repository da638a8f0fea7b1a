import Foundation
import NIOHTTP1
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// The journal of what providers sent, over the wire.
@Suite(.timeLimit(.minutes(3)))
struct JournalTests {
    @Test func `A request is kept with its headers, its payload, its answer and its outcome`() async throws {
        try await TestService.runInMemory { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider()
            let jwt = try test.providerToken()
            let headers = ProviderHeaders(token, token: jwt).with("apns-push-type", "alert")
                .with("apns-id", "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab").with("x-mine", "yes")
            #expect(try await client.send(headers.fields, body: #"{"aps":{"alert":"hi"}}"#).status == 200)
            let request = try required(try await test.requests().first)
            #expect(request["number"] as? Int == 1)
            #expect(request["connection"] as? String == "c1")
            #expect(request["protocol"] as? String == "h2")
            #expect(request["team"] as? String == test.description.key?.teamID)
            #expect(request["keyID"] as? String == test.description.key?.keyID)
            #expect(request["token"] as? String == token)
            #expect((request["device"] as? String)?.count == 16)
            #expect(request["topic"] as? String == test.bundleID)
            #expect(request["status"] as? Int == 200)
            #expect(request["reason"] == nil)
            #expect(request["apnsID"] as? String == "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab")
            #expect(request["outcome"] as? String == "stored")
            let payload = try required(request["payload"] as? [String: [String: String]])
            #expect(payload == ["aps": ["alert": "hi"]])
            let kept = try required(request["headers"] as? [String: String])
            #expect(kept["x-mine"] == "yes")
            #expect(kept[":path"] == "/3/device/\(token)")
            // The signature is left out, because with it others could send.
            let parts = jwt.split(separator: ".")
            #expect(kept["authorization"] == "bearer \(parts[0]).\(parts[1]).")
            await client.close()
        }
    }

    @Test func `An identifier has its capital letters in the answer, in the journal and in the log`() async throws {
        try await TestService.runInMemory { test in
            let id = "8B1E5B4A-9C0C-4D5E-8F00-0123456789AB"
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(token, token: try test.providerToken()).with("apns-id", id)
            #expect(try await client.send(headers.fields, body: #"{"aps":{"alert":"hi"}}"#).headers["apns-id"] == [id])
            await client.close()
            let found = try await test.requests("?apnsID=\(id.lowercased())")
            #expect(found.map { $0["apnsID"] as? String } == [id])
            let log = try await test.ask("GET", "/v1/log?id=\(id.lowercased())")
            let lines = String(decoding: log.body, as: UTF8.self).split(separator: "\n")
            #expect(!lines.isEmpty && lines.allSatisfy { $0.contains(#""id":"\#(id)""#) })
        }
    }

    @Test func `A rejected request is kept with its reason and with its payload`() async throws {
        try await TestService.runInMemory { test in
            let client = try await test.connectProvider()
            let headers = ProviderHeaders("00", token: try test.providerToken())
            #expect(try await client.send(headers.fields, body: #"{"aps":{"alert":"x"}}"#).reason == "BadDeviceToken")
            let request = try required(try await test.requests("?reason=BadDeviceToken").first)
            #expect(request["status"] as? Int == 400)
            #expect(request["outcome"] as? String == "rejected")
            #expect(request["token"] as? String == "00")
            #expect(request["payload"] as? [String: [String: String]] == ["aps": ["alert": "x"]])
            // The token is not valid, so the request counts for the team of its topic.
            let bad = ProviderHeaders("00", token: "not.a.token")
            #expect(try await client.send(bad.fields).reason == "InvalidProviderToken")
            let team = try required(test.description.key).teamID
            let unknown = try required(
                try await test.requests("?reason=InvalidProviderToken&team=\(team)").first)
            #expect(unknown["keyID"] == nil)
            await client.close()
        }
    }

    @Test func `Of a payload that is too large the journal has the beginning and the size`() async throws {
        try await TestService.runInMemory { test in
            let headers = ProviderHeaders(try await test.makeDeviceToken(), token: try test.providerToken())
            let client = try await test.connectProvider()
            let body = #"{"aps":{"alert":"\#(String(repeating: "x", count: 5000))"}}"#
            let size = body.utf8.count
            // The size is what content-length says, and without it what had arrived.
            for fields in [headers.with("content-length", "\(size)").fields, headers.fields] {
                #expect(try await client.send(fields, body: body).status == 413)
            }
            let requests = try await test.requests()
            #expect(requests.map { $0["reason"] as? String } == ["PayloadTooLarge", "PayloadTooLarge"])
            let beginning = String(body.prefix(4096))
            #expect(requests.map { $0["body"] as? String } == [beginning, beginning])
            #expect(requests.first?["bodyBytes"] as? Int == size)
            let arrived = try required(requests.last?["bodyBytes"] as? Int)
            #expect((4097...size).contains(arrived))
            await client.close()
        }
    }

    @Test func `Of a broadcast that is too large the journal has the beginning and the size`() async throws {
        try await TestService.runInMemory { test in
            let channel = try await test.makeChannel()
            let provider = try await BroadcastProvider(test)
            let body = #"{"aps":{"alert":"\#(String(repeating: "x", count: 6000))"}}"#
            let answer = try await provider.broadcast(to: channel) {
                $0.body = body
                $0.set("content-length", "\(body.utf8.count)")
            }
            #expect(answer.status == 413)
            let request = try required(try await test.requests("?reason=PayloadTooLarge").first)
            #expect(request["body"] as? String == String(body.prefix(5120)))
            #expect(request["bodyBytes"] as? Int == body.utf8.count)
            await provider.client.close()
        }
    }

    @Test func `Of a request about channels that is too large the journal has the size`() async throws {
        try await TestService.runInMemory { test in
            var headers = ChannelHeaders("POST", token: try test.providerToken())
            headers.set("content-length", "5000")
            let client = try await test.connectChannels()
            let answer = try await client.send(headers.fields, body: String(repeating: " ", count: 5000))
            #expect(answer.status == 413)
            let request = try required(try await test.requests("?reason=PayloadTooLarge").first)
            #expect(request["bodyBytes"] as? Int == 5000)
            await client.close()
        }
    }

    @Test func `A body that the journal has in full has no size of its own`() async throws {
        try await TestService.runInMemory { test in
            let headers = ProviderHeaders(try await test.makeDeviceToken(), token: try test.providerToken())
            let client = try await test.connectProvider()
            #expect(try await client.send(headers.fields, body: #"{ "aps" : {} }"#).status == 200)
            #expect(try await client.send(headers.fields, body: "[1]").reason == "PayloadEmpty")
            let requests = try await test.requests()
            #expect(requests.map { $0["body"] as? String } == [nil, "[1]"])
            #expect(requests.allSatisfy { $0["bodyBytes"] == nil })
            await client.close()
        }
    }

    @Test func `A wait ends with the last request, and after a timeout it names the most similar requests`()
        async throws
    {
        try await TestService.runInMemory { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(token, token: try test.providerToken())
            let body = #"{"match":{"topic":"com.example.app","status":200},"count":3,"timeout":"PT60S"}"#
            async let waiting = test.ask("POST", "/v1/requests/wait", body: body)
            for _ in 0..<3 { #expect(try await client.send(headers.fields).status == 200) }
            let answer = try await waiting
            #expect(answer.status == 200)
            let found = try required(answer.problem?["requests"] as? [[String: Any]])
            #expect(found.count == 3)
            let late = try await test.ask(
                "POST", "/v1/requests/wait",
                body: #"{"match":{"topic":"com.example.other"},"timeout":"PT0.01S"}"#)
            #expect(late.status == 408)
            #expect(late.headers["content-type"] == ["application/json"])
            #expect(late.problem?["matched"] as? Int == 0)
            let nearest = try required(late.problem?["nearest"] as? [[String: Any]])
            #expect(nearest.count == 3)
            #expect(nearest[0]["differs"] as? [String] == ["topic"])
            #expect((nearest[0]["request"] as? [String: Any])?["number"] as? Int == 3)
            let none = try await test.ask(
                "POST", "/v1/requests/wait", body: #"{"match":{"status":500},"count":0,"timeout":"PT0.01S"}"#)
            #expect(none.status == 200)
            let some = try await test.ask("POST", "/v1/requests/wait", body: #"{"count":0,"timeout":"PT0.01S"}"#)
            #expect(some.status == 408)
            #expect(some.problem?["matched"] as? Int == 3)
            await client.close()
        }
    }

    @Test func `The journal keeps as many requests as it should, and removes those it is told to`() async throws {
        try await TestService.runInMemory { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(token, token: try test.providerToken())
            #expect(try await test.ask("PUT", "/v1/journal", body: #"{"keep":2}"#).status == 200)
            for _ in 0..<3 { _ = try await client.send(headers.fields) }
            #expect(try await test.requests().compactMap { $0["number"] as? Int } == [2, 3])
            #expect(try await test.requests("?after=2").count == 1)
            let page = try await test.ask("GET", "/v1/requests?limit=1&status=200")
            #expect(page.headers["link"] == ["</v1/requests?status=200&limit=1&after=2>; rel=\"next\""])
            let other = try await test.ask("DELETE", "/v1/requests?team=ABCDE12345")
            #expect(other.problem?["deleted"] as? Int == 0)
            let all = try await test.ask("DELETE", "/v1/requests")
            #expect(all.problem?["deleted"] as? Int == 2)
            #expect(try await test.requests().isEmpty)
            #expect(try await test.ask("PUT", "/v1/journal", body: #"{"keep":0}"#).status == 200)
            _ = try await client.send(headers.fields)
            #expect(try await test.requests().isEmpty)
            await client.close()
        }
    }

    @Test(arguments: [
        ("GET", "/v1/requests?status=x", nil), ("GET", "/v1/requests?team=a%20b", nil),
        ("GET", "/v1/requests?what=x", nil),
        ("GET", "/v1/requests?payload=x", nil), ("DELETE", "/v1/requests?environment=production", nil),
        ("PUT", "/v1/journal", #"{"keep":-1}"#), ("PUT", "/v1/journal", #"{"keep":100001}"#),
        ("POST", "/v1/requests/wait", #"{"match":{"topics":"x"}}"#),
        ("POST", "/v1/requests/wait", #"{"timeout":"5"}"#), ("POST", "/v1/requests/wait", #"{"count":-1}"#),
    ])
    func `Invalid requests are refused`(method: String, path: String, body: String?) async throws {
        try await TestService.runInMemory { test in
            let answer = try await test.ask(method, path, body: body)
            #expect(answer.status == 400)
            #expect(answer.headers["content-type"] == ["application/problem+json"])
        }
    }

    @Test func `An invalid match is refused, with the place of the fault`() async throws {
        try await TestService.runInMemory { test in
            let answer = try await test.ask("POST", "/v1/requests/wait", body: #"{"match":{"team":"a b"}}"#)
            #expect(answer.problem?["pointer"] as? String == "/match/team")
        }
    }

    @Test func `Outside the development environment there is no journal`() async throws {
        try await TestService.run(environment: .production) {
            $0.environments = [.production]
        } _: { test in
            let requests = [
                ("GET", "/v1/requests", nil), ("PUT", "/v1/journal", #"{"keep":1}"#),
                ("POST", "/v1/requests/wait", nil),
                ("POST", "/v1/fixtures", "{}"),
                ("POST", "/v1/devices", #"{"team":"ABCDE12345"}"#),
                ("PATCH", "/v1/devices/0123456789abcdef", #"{"behaviour":{"kind":"offline"}}"#),
                ("POST", "/v1/notifications", #"{"token":"00","topic":"a","payload":{}}"#),
                ("POST", "/v1/broadcasts", #"{"bundleID":"a.b","channelID":"AAAA","payload":{}}"#),
            ]
            for (method, path, body) in requests {
                let answer = try await test.ask(method, path, body: body)
                #expect(answer.status == 403, "\(method) \(path)")
                #expect((answer.problem?["detail"] as? String)?.contains("development environment") == true)
            }
        }
    }
}
