import AsyncHTTPClient
import CommonTesting
import Console
import Foundation
import NIOCore
import NIOHTTP1
import Notifications
import Service
import Testing

@testable import Management
@testable import ServiceTesting

/// Signing in to the console and what its session may do, over the wire.
@Suite(.timeLimit(.minutes(2)))
struct ConsoleTests {
    /// A browser that has signed in.
    private struct Browser {
        let test: TestService
        let cookie: String
        let origin: String

        func ask(
            _ method: String,
            _ path: String,
            origin: String? = nil,
            site: String? = "same-origin",
            body: String? = nil,
        ) async throws -> TestService.ManagementAnswer {
            var headers = [("cookie", "theme=dark; \(cookie)")]
            if let origin { headers.append(("origin", origin)) }
            if let site { headers.append(("sec-fetch-site", site)) }
            return try await test.ask(method, path, key: "", headers: headers, body: body)
        }
    }

    private static func link(_ test: TestService) async throws -> String {
        let answer = try await test.ask("POST", "/v1/console/links")
        #expect(answer.status == 200)
        let message = try JSONSerialization.jsonObject(with: answer.body) as? [String: String]
        return String(try required(message?["url"]).dropFirst(try test.managementURL.count))
    }

    /// Requests a link without following the redirection.
    private static func open(_ link: String, _ test: TestService) async throws -> HTTPClientResponse {
        let client = HTTPClient(
            eventLoopGroupProvider: .singleton, configuration: .init(redirectConfiguration: .disallow))
        let response = try await client.execute(
            test.request("GET", link, key: ""), deadline: .now() + .seconds(30))
        _ = try await response.body.collect(upTo: 1 << 20)
        try await client.shutdown()
        return response
    }

    private static func signIn(_ test: TestService) async throws -> Browser {
        let response = try await open(link(test), test)
        let cookie = try required(response.headers.first(name: "set-cookie"))
        return Browser(
            test: test, cookie: String(cookie.prefix { $0 != ";" }), origin: try test.managementURL)
    }

    @Test func `A link signs in once, with a cookie that scripts cannot read and other sites cannot send`() async throws
    {
        try await TestService.run { test in
            let link = try await Self.link(test)
            let first = try await Self.open(link, test)
            #expect(first.status == .seeOther)
            #expect(first.headers.first(name: "location") == "/console")
            let cookie = try required(first.headers.first(name: "set-cookie"))
            let port = try required(URLComponents(string: test.managementURL)?.port)
            #expect(cookie.hasPrefix("carillon-console-\(port)="))
            for attribute in ["; HttpOnly", "; SameSite=Strict", "; Path=/", "; Max-Age=43200"] {
                #expect(cookie.contains(attribute))
            }
            let second = try await Self.open(link, test)
            #expect(second.status == .forbidden && second.headers["set-cookie"].isEmpty)
            #expect(try await Self.open("/console/sign-in?code=0000", test).status == .forbidden)
            #expect(try await Self.open("/console/sign-in", test).status == .forbidden)
        }
    }

    @Test func `A link stays valid if a program looks at it without opening it`() async throws {
        try await TestService.run { test in
            let link = try await Self.link(test)
            _ = try await test.ask("HEAD", link, key: "")
            #expect(try await Self.open(link, test).status == .seeOther)
        }
    }

    @Test func `A link stays valid if a browser prefetches it`() async throws {
        try await TestService.run { test in
            let link = try await Self.link(test)
            for (name, value) in [
                ("sec-purpose", "prefetch"), ("sec-purpose", "prefetch;prerender"), ("purpose", "prefetch"),
            ] {
                let ahead = try await test.ask("GET", link, key: "", headers: [(name, value)])
                #expect(ahead.status == 503 && ahead.headers["set-cookie"].isEmpty, "\(name): \(value)")
            }
            #expect(try await Self.open(link, test).status == .seeOther)
        }
    }

    @Test func `A session cannot make links, so it cannot last for ever`() async throws {
        try await TestService.run { test in
            let browser = try await Self.signIn(test)
            let answer = try await browser.ask("POST", "/v1/console/links", origin: browser.origin, body: "{}")
            #expect(answer.status == 403, "\(answer.text)")
            #expect(try await test.ask("POST", "/v1/console/links").status == 200)
        }
    }

    @Test func `In production no request can show a payload`() async throws {
        try await TestService.run(environment: .production) {
            $0.environments = [.production]
        } _: { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(token, token: try test.providerToken()).with("apns-push-type", "alert")
            let secret = "between the two of us"
            #expect(try await client.send(headers.fields, body: #"{"aps":{"alert":"\#(secret)"}}"#).status == 200)
            await client.close()
            let description = try await test.ask("GET", "/openapi.json")
            let paths = try required(description.problem?["paths"] as? [String: [String: Any]])
            let readable = paths.filter { $0.value["get"] != nil && !$0.key.contains("{") }.keys
            #expect(readable.contains("/v1/log") && readable.contains("/v1/requests") && readable.count > 10)
            for path in readable {
                let answer = try await test.ask("GET", path)
                #expect(!answer.text.contains(secret), "\(path)")
                #expect(path != "/v1/log" || answer.text.contains(#""event":"stored""#))
            }
        }
    }

    @Test func `A sampled stream shows some requests, and counts the others`() async throws {
        try await TestService.runInMemory { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(token, token: try test.providerToken()).with("apns-push-type", "alert")
            let request = try test.request(
                "GET", "/v1/requests?follow=true&changes=true&sample=true", headers: [("accept", "text/event-stream")])
            let response = try await HTTPClient.shared.execute(request, deadline: .distantFuture)
            var parts = response.body.makeAsyncIterator()
            #expect(try await parts.next().map { String(buffer: $0) } == ": open\n\n")
            let count = 300
            // After the first provider token was verified, more streams may be open.
            #expect(try await client.send(headers.fields, body: #"{"aps":{"alert":"x"}}"#).status == 200)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 1..<count {
                    group.addTask {
                        let answer = try await client.send(headers.fields, body: #"{"aps":{"alert":"x"}}"#)
                        #expect(answer.status == 200)
                    }
                }
                try await group.waitForAll()
            }
            // Every request is shown, perhaps several times, or counted.
            var (shown, leftOut): (Set<String>, Int) = ([], 0)
            var rest = ""
            while shown.count + leftOut < count, let part = try await parts.next() {
                rest += String(buffer: part)
                var events = rest.components(separatedBy: "\n\n")
                rest = events.removeLast()
                let ids = events.compactMap { $0.firstMatch(of: /^id: (\d+)\n/).map { String($0.1) } }
                // Reading may put batches together, but each begins and ends with an event.
                shown.formUnion(ids)
                for event in events { leftOut += event.firstMatch(of: /"leftOut":(\d+)/).flatMap { Int($0.1) } ?? 0 }
            }
            #expect(shown.count + leftOut == count)
            await client.close()
        }
    }

    @Test func `The service shows the metrics of its last hour`() async throws {
        try await TestService.runInMemory { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(token, token: try test.providerToken()).with("apns-push-type", "alert")
            #expect(try await client.send(headers.fields, body: #"{"aps":{"alert":"x"}}"#).status == 200)
            let refused = try await client.send(headers.with("apns-topic", "no.app").fields, body: "{}")
            #expect(refused.reason == "TopicDisallowed")
            await client.close()
            // Events that were recorded before are counted when they are in the log.
            _ = try await test.ask("GET", "/v1/log")
            test.service.sampleMetrics()
            let answer = try await test.ask("GET", "/v1/service")
            #expect(answer.problem?["ready"] as? Bool == true)
            let samples = try required(answer.problem?["samples"] as? [[String: Any]])
            func sum(_ name: String) -> Int { samples.reduce(0) { $0 + ($1[name] as? Int ?? 0) } }
            #expect(sum("accepted") == 1 && sum("stored") == 1 && sum("rejected") == 1 && sum("delivered") == 0)
            #if os(Linux)
                #expect((samples.last?["memory"] as? Int ?? 0) > 1 << 20)
            #endif
            let time = try required(samples.last?["time"] as? Int)
            let later = try await test.ask("GET", "/v1/service?after=\(time)")
            #expect((later.problem?["samples"] as? [Any])?.isEmpty == true)
        }
    }

    @Test func `A session may read what the key may read, and change things only from the console's pages`()
        async throws
    {
        try await TestService.run { test in
            let browser = try await Self.signIn(test)
            let team = #"{"name":"Shop"}"#
            #expect(try await browser.ask("GET", "/v1/teams").status == 200)
            #expect(try await browser.ask("POST", "/v1/teams", body: team).status == 403)
            #expect(
                try await browser.ask("POST", "/v1/teams", origin: "https://evil.example", body: team).status == 403)
            #expect(try await browser.ask("POST", "/v1/teams", origin: "http://127.0.0.1:1", body: team).status == 403)
            #expect(try await browser.ask("POST", "/v1/teams", origin: "null", body: team).status == 403)
            // Pages on other ports of this machine are of the same site: the browser sends them the cookie.
            #expect(try await browser.ask("GET", "/v1/teams", site: "same-site").status == 403)
            #expect(try await browser.ask("GET", "/v1/teams", site: "cross-site").status == 403)
            let made = try await browser.ask("POST", "/v1/teams", origin: browser.origin, body: team)
            #expect(made.status == 200)
            let other = Browser(test: test, cookie: browser.cookie + "0", origin: browser.origin)
            #expect(try await other.ask("GET", "/v1/teams").status == 401)
        }
    }

    @Test func `Signing out ends one session, and ending all sessions ends all`() async throws {
        try await TestService.run { test in
            let (first, second) = (try await Self.signIn(test), try await Self.signIn(test))
            let out = try await first.ask("DELETE", "/v1/console/session", origin: first.origin)
            #expect(out.status == 200)
            #expect(out.headers.first(name: "set-cookie")?.contains("Max-Age=0") == true)
            #expect(try await first.ask("GET", "/v1/teams").status == 401)
            #expect(try await second.ask("GET", "/v1/teams").status == 200)
            #expect(try await test.ask("DELETE", "/v1/console/sessions").text == #"{"ended":1}"#)
            #expect(try await second.ask("GET", "/v1/teams").status == 401)
            #expect(try await test.ask("DELETE", "/v1/console/session").status == 404)
        }
    }

    @Test func `A stream ends with its session`() async throws {
        try await TestService.runInMemory { test in
            let browser = try await Self.signIn(test)
            let request = try test.request(
                "GET", "/v1/requests?follow=true&changes=true", key: "",
                headers: [("cookie", browser.cookie), ("accept", "text/event-stream")])
            let response = try await HTTPClient.shared.execute(request, deadline: .distantFuture)
            #expect(response.headers.first(name: "content-type") == "text/event-stream")
            var parts = response.body.makeAsyncIterator()
            #expect(try await parts.next().map { String(buffer: $0) } == ": open\n\n")
            _ = try await test.ask("DELETE", "/v1/console/sessions")
            #expect(try await parts.next() == nil)
        }
    }

    @Test func `The journal's events show each request, and again when it changes`() async throws {
        try await TestService.runInMemory { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(token, token: try test.providerToken()).with("apns-push-type", "alert")
            #expect(try await client.send(headers.fields, body: #"{"aps":{"alert":"before"}}"#).status == 200)
            // Wait until the notification is stored: a later outcome would be reported as a change.
            let waited = try await test.ask("POST", "/v1/requests/wait", body: #"{"match":{"outcome":"stored"}}"#)
            #expect(waited.status == 200)
            let request = try test.request(
                "GET", "/v1/requests?follow=true&changes=true", headers: [("accept", "text/event-stream")])
            let response = try await HTTPClient.shared.execute(request, deadline: .distantFuture)
            var parts = response.body.makeAsyncIterator()
            _ = try await parts.next()
            #expect(try await client.send(headers.fields, body: #"{"aps":{"alert":"after"}}"#).status == 200)
            var text = ""
            // The second notification replaces the first one in the mailbox (Guide, 2.1.3).
            while !(text.contains(#""outcome":"replaced""#) && text.contains("id: 2\n")),
                let part = try await parts.next()
            {
                text += String(buffer: part)
            }
            let events = text.components(separatedBy: "\n\n")
            let (first, second) = (events.filter { $0.hasPrefix("id: 1\n") }, events.filter { $0.hasPrefix("id: 2\n") })
            #expect(first.count == 1 && first.allSatisfy { $0.contains(#""outcome":"replaced""#) })
            #expect(!second.isEmpty && second.allSatisfy { $0.contains(#""alert":"after""#) })
            await client.close()
        }
    }

    @Test func `The pages come from the binary, only for the service's own origin, and are requested each time`()
        async throws
    {
        try await TestService.run { test in
            let page = try await test.ask("GET", "/console", key: "")
            #expect(page.status == 200)
            #expect(page.headers.first(name: "content-type") == "text/html; charset=utf-8")
            #expect(page.headers.first(name: "cache-control") == "no-cache")
            #expect(page.headers.first(name: "x-content-type-options") == "nosniff")
            #expect(page.headers.first(name: "referrer-policy") == "no-referrer")
            let policy = try required(page.headers.first(name: "content-security-policy"))
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self'"))
            #expect(!policy.contains("unsafe") && !policy.contains("http"))
            let tag = try required(page.headers.first(name: "etag"))
            let again = try await test.ask("GET", "/console", key: "", headers: [("if-none-match", tag)])
            #expect(again.status == 304 && again.body.isEmpty)
            #expect(try await test.ask("GET", "/console", key: "", headers: [("host", "evil.example")]).status == 403)
            #expect(try await test.ask("GET", "/console/nothing.js", key: "").status == 401)
            for (name, type) in [
                ("main.js", "text/javascript"), ("console.css", "text/css"), ("icon.svg", "image/svg+xml"),
            ] {
                let file = try await test.ask("GET", "/console/\(name)", key: "")
                #expect(file.headers.first(name: "content-type")?.hasPrefix(type) == true)
            }
        }
    }

    @Test func `Every file of the folder is served, and nothing else`() throws {
        let folder = Repository.file("Sources/Service/Management/Console/Files").path
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(Set(names) == Set(ConsoleSite.managementFiles.keys).union(["index.html"]))
    }

    @Test func `The table of reasons is the one that the gateways use`() async throws {
        try await TestService.run { test in
            let answer = try await test.ask("GET", "/v1/reasons")
            let rows = try required(JSONSerialization.jsonObject(with: answer.body) as? [[String: Any]])
            let row = try required(rows.first { $0["reason"] as? String == "BadDeviceToken" })
            #expect(row["status"] as? Int == 400)
            #expect(row["meaning"] as? String == "The device token does not belong to this environment.")
            #expect(row["advice"] as? String == "forget the device token")
        }
    }
}
