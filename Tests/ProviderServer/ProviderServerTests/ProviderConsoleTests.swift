import AsyncHTTPClient
import CommonTesting
import Foundation
import NIOCore
import NIOHTTP1
import Notifications
import Testing

@testable import ProviderServer

/// Signing in to the provider server's console, what its session may do, and what its pages ask for.
@Suite(.timeLimit(.minutes(2)))
struct ProviderConsoleTests {
    /// A browser that has signed in.
    private struct Browser {
        let provider: TestProvider
        let cookie: String

        func ask(
            _ method: HTTPMethod,
            _ path: String,
            _ body: String? = nil,
            origin: String? = nil,
            site: String? = "same-origin",
            host: String? = nil,
        ) async throws -> TestProvider.Answer {
            var headers = [("cookie", "theme=dark; \(cookie)")]
            if let origin { headers.append(("origin", origin)) }
            if let site { headers.append(("sec-fetch-site", site)) }
            if let host { headers.append(("host", host)) }
            return try await provider.ask(method, path, body, key: "", headers: headers)
        }
    }

    private static func link(_ provider: TestProvider) async throws -> String {
        let answer = try await provider.ask(.POST, "/v1/console/links")
        #expect(answer.status == 200, "\(answer.body.text)")
        return try answer.text("url")
    }

    /// Requests an address without following a redirection, and without a key.
    private static func open(_ url: String, _ headers: [(String, String)] = []) async throws -> HTTPClientResponse {
        let client = HTTPClient(
            eventLoopGroupProvider: .singleton, configuration: .init(redirectConfiguration: .disallow))
        var request = HTTPClientRequest(url: url)
        for (name, value) in headers { request.headers.replaceOrAdd(name: name, value: value) }
        let response = try await client.execute(request, deadline: .distantFuture)
        _ = try await response.body.collect(upTo: 1 << 20)
        try await client.shutdown()
        return response
    }

    private static func signIn(_ provider: TestProvider) async throws -> Browser {
        let response = try await open(link(provider))
        let cookie = try #require(response.headers.first(name: "set-cookie"))
        return Browser(provider: provider, cookie: String(cookie.prefix { $0 != ";" }))
    }

    @Test func `A link signs in once, with a cookie that scripts cannot read and other sites cannot send`() async throws
    {
        try await TestProvider.run { provider in
            let link = try await Self.link(provider)
            #expect(link.hasPrefix(provider.url + "/console/sign-in?code="))
            let ahead = try await Self.open(link, [("sec-purpose", "prefetch")])
            #expect(ahead.status == .serviceUnavailable && ahead.headers["set-cookie"].isEmpty)
            let first = try await Self.open(link)
            #expect(first.status == .seeOther && first.headers.first(name: "location") == "/console")
            let cookie = try #require(first.headers.first(name: "set-cookie"))
            for attribute in ["; HttpOnly", "; SameSite=Strict", "; Path=/", "; Max-Age=43200"] {
                #expect(cookie.contains(attribute))
            }
            #expect(!cookie.contains("Secure"))
            let second = try await Self.open(link)
            #expect(second.status == .forbidden && second.headers["set-cookie"].isEmpty)
        }
    }

    @Test func `A session may do what the administrator may, and change things only from the console's page`()
        async throws
    {
        try await TestProvider.run { provider in
            let browser = try await Self.signIn(provider)
            #expect(try await browser.ask(.GET, "/v1/apps").status == 200)
            let (path, app) = ("/v1/apps/com.example.other", TestShop.other())
            for origin in [nil, "https://evil.example", "http://127.0.0.1:1", "null"] {
                #expect(try await browser.ask(.PUT, path, app, origin: origin).status == 403, "\(origin ?? "none")")
            }
            // Pages on other ports of this machine are of the same site: the browser sends them the cookie.
            #expect(try await browser.ask(.GET, "/v1/apps", site: "same-site").status == 403)
            #expect(try await browser.ask(.GET, "/v1/apps", site: "cross-site").status == 403)
            #expect(try await browser.ask(.PUT, path, app, origin: provider.url).status == 201)
            let other = Browser(provider: provider, cookie: browser.cookie + "0")
            #expect(try await other.ask(.GET, "/v1/apps").status == 401)
        }
    }

    @Test func `Only the administrator's key makes links, so a session cannot last for ever`() async throws {
        try await TestProvider.run { provider in
            let browser = try await Self.signIn(provider)
            let answer = try await browser.ask(.POST, "/v1/console/links", "{}", origin: provider.url)
            #expect(answer.status == 403, "\(answer.body.text)")
            let app = try await provider.ask(.PUT, "/v1/apps/com.example.other", TestShop.other())
            for key in [try app.text("serverKey"), try app.text("clientKey")] {
                #expect(try await provider.ask(.POST, "/v1/console/links", key: key).status == 403)
                #expect(try await provider.ask(.DELETE, "/v1/console/sessions", key: key).status == 403)
            }
            #expect(try await provider.ask(.POST, "/v1/console/links", key: "").status == 401)
        }
    }

    @Test func `Signing out ends one session, and ending all sessions ends all`() async throws {
        try await TestProvider.run { provider in
            let (first, second) = (try await Self.signIn(provider), try await Self.signIn(provider))
            let out = try await first.ask(.DELETE, "/v1/console/session", origin: provider.url)
            #expect(out.status == 200 && out.headers.first(name: "set-cookie")?.contains("Max-Age=0") == true)
            #expect(try await first.ask(.GET, "/v1/apps").status == 401)
            #expect(try await second.ask(.GET, "/v1/apps").status == 200)
            #expect(try await provider.ask(.DELETE, "/v1/console/sessions").body == ["ended": 1])
            #expect(try await second.ask(.GET, "/v1/apps").status == 401)
            #expect(try await provider.ask(.DELETE, "/v1/console/session").status == 404)
        }
    }

    @Test func `The page is only for the server's own names, and no other host may show or script it`() async throws {
        try await TestProvider.run {
            $0.hostnames = ["push.example.com"]
        } _: { provider in
            let page = try await Self.open(provider.url + "/console")
            #expect(page.status == .ok && page.headers.first(name: "content-type") == "text/html; charset=utf-8")
            #expect(page.headers.first(name: "x-content-type-options") == "nosniff")
            let policy = try #require(page.headers.first(name: "content-security-policy"))
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self'"))
            #expect(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"))
            let tag = try #require(page.headers.first(name: "etag"))
            let again = try await Self.open(provider.url + "/console", [("if-none-match", tag)])
            #expect(again.status == .notModified)
            for (name, type) in [
                ("main.js", "text/javascript"), ("dom.js", "text/javascript"), ("console.css", "text/css"),
            ] {
                let file = try await Self.open(provider.url + "/console/" + name)
                #expect(file.headers.first(name: "content-type")?.hasPrefix(type) == true, "\(name)")
            }
            for (host, status) in [("evil.example", 403), ("10.0.0.1", 403), ("push.example.com", 200)] {
                let page = try await Self.open(provider.url + "/console", [("host", host)])
                #expect(Int(page.status.code) == status, "\(host)")
            }
        }
    }

    @Test func `A session is of no use under a foreign name`() async throws {
        try await TestProvider.run { provider in
            let browser = try await Self.signIn(provider)
            let port = try #require(URLComponents(string: provider.url)?.port)
            #expect(try await browser.ask(.GET, "/v1/apps", host: "evil.example:\(port)").status == 403)
            #expect(try await browser.ask(.GET, "/v1/apps", host: "localhost:\(port)").status == 200)
        }
    }

    @Test func `Every file of the folder is served, and nothing else`() throws {
        let folder = Repository.file("Sources/ProviderServer/ProviderServer/Console/Files").path
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(Set(names) == Set(ProviderConsole.files.keys).union(["index.html"]))
    }

    // MARK: What the pages ask for

    @Test func `A message has a title, and on request its number of recipients and its document`() async throws {
        try await TestShop.run(devices: [nil, nil, nil]) { shop in
            try await shop.register { $0 == 0 ? "" : #","tags":["news"]"# }
            let document = """
                {"audience":{"tags":"news"},"payload":{"aps":{"alert":{"title":"{{head}}, {{name}}","body":"b"}}},
                "texts":{"en":{"head":"Sale"}},"fallbackLanguage":"en","values":{"name":"you"},"sendAt":"\(Self.tomorrow)"}
                """
            let sent = try await shop.provider.ask(.POST, "/v1/messages", document, key: shop.serverKey)
            let id = try sent.text("id")
            #expect(sent["title"] == "Sale, {{name}}")
            let path = "/v1/messages/\(id)"
            #expect(try await shop.provider.ask(.GET, path)["recipients"] == nil)
            let more = try await shop.provider.ask(.GET, path + "?include=recipients,request")
            #expect(more["recipients"] == 2)
            #expect(more["request", "audience"] == ["tags": "news"])
            #expect(try await shop.provider.ask(.GET, path + "?include=secrets").status == 400)
        }
    }

    @Test func `The number of recipients stays the same while outcomes are stored`() async throws {
        try await TestShop.run(devices: [String?](repeating: nil, count: 30)) { shop in
            try await shop.register()
            let sent = try await shop.provider.ask(
                .POST, "/v1/messages", #"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}},"rate":20}"#,
                key: shop.serverKey)
            let path = "/v1/messages/\(try sent.text("id"))?include=recipients"
            var state: JSONValue?
            while state != "finished" {
                let message = try await shop.provider.ask(.GET, path)
                #expect(message["recipients"] == 30)
                state = message["state"]
            }
        }
    }

    @Test func `Outcomes are listed and exported by what became of them`() async throws {
        try await TestShop.run(devices: [nil, #"{"kind":"removed"}"#, nil]) { shop in
            try await shop.register()
            let sent = try await shop.provider.ask(
                .POST, "/v1/messages", #"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}}}"#,
                key: shop.serverKey)
            let id = try sent.text("id")
            let done = try await shop.provider.finished(id)
            #expect(done["accepted"] == 2 && done["failed"] == 1, "\(done.body.text)")
            let path = "/v1/messages/\(id)/outcomes"
            func names(_ query: String) async throws -> [String] {
                let answer = try await shop.provider.ask(.GET, path + query)
                guard case .array(let items)? = answer["items"] else { return [] }
                return items.compactMap {
                    guard case .object(let item) = $0, case .string(let name)? = item["installation"] else {
                        return nil
                    }
                    return name
                }
            }
            #expect(try await names("") == ["i0", "i1", "i2"])
            #expect(try await names("?outcome=accepted") == ["i0", "i2"])
            #expect(try await names("?outcome=accepted&limit=1") == ["i0"])
            #expect(try await names("?outcome=failed") == ["i1"])
            #expect(try await names("?reason=Unregistered") == ["i1"])
            #expect(try await names("?reason=BadTopic") == [])
            #expect(try await shop.provider.ask(.GET, path + "?outcome=lost").status == 400)
            let file = try await Self.open(
                shop.provider.url + path + "?format=csv&outcome=failed",
                [("authorization", "Bearer \(shop.serverKey)")])
            #expect(file.headers.first(name: "content-type") == "text/csv; charset=utf-8")
            #expect(file.headers.first(name: "content-disposition") == "attachment; filename=\"outcomes-\(id).csv\"")
            #expect(try await shop.provider.ask(.GET, path + "?format=xml").status == 400)
        }
    }

    @Test func `A backend finds the installations of a user, also ended ones`() async throws {
        try await TestShop.run(devices: [nil, nil, nil]) { shop in
            try await shop.register { $0 < 2 ? #","user":"anna & bo""# : #","user":"carl""# }
            // Another installation takes the device token, so the first one ends.
            _ = try await shop.provider.ask(
                .PUT, "/v1/installations/new",
                #"{"deviceToken":"\#(shop.tokens[0])","environment":"development","user":"dora"}"#, key: shop.serverKey)
            let found = try await shop.provider.ask(.GET, "/v1/installations?user=anna%20%26%20bo", key: shop.serverKey)
            guard case .array(let items)? = found["items"] else { return #expect(Bool(false), "\(found.body.text)") }
            #expect(items.count == 2)
            #expect(found["items", "0", "id"] == "i0" && found["items", "0", "ended", "reason"] == "replaced")
            #expect(found["items", "1", "id"] == "i1" && found["items", "1", "ended"] == nil)
            let none = try await shop.provider.ask(.GET, "/v1/installations?user=eve", key: shop.serverKey)
            #expect(none["items"] == [])
        }
    }

    private static var tomorrow: String {
        Date(timeIntervalSinceNow: 86_400).formatted(.iso8601)
    }
}
