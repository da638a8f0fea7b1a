import Foundation
import HTTPAPI
import NIOCore
import NIOHTTP1
import Notifications
import Rates
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// The limits of connections and requests, over the wire.
@Suite(.timeLimit(.minutes(3))) struct ServerLimitTests {
    private static let health = "GET /health HTTP/1.1\r\nhost: x\r\n"

    /// - Returns: The problem document in an answer.
    private static func problem(_ answer: String) throws -> JSONValue {
        let body = try required(answer.components(separatedBy: "\r\n\r\n").last)
        return try JSONDecoder().decode(JSONValue.self, from: Data(body.utf8))
    }

    @Test func `Header fields are limited in size and number, and the refusal says so`() async throws {
        func fields(_ count: Int) -> String { (0..<count).map { "x-\($0): 1\r\n" }.joined() }
        func field(_ count: Int) -> String { "x: \(String(repeating: "a", count: count))\r\n" }
        let half = RequestLimits.headerBytes / 2
        let refused = [
            fields(RequestLimits.headerFields + 1), field(RequestLimits.headerBytes + 1),
            field(half) + "y" + field(half),
        ]
        try await TestProvider.run { provider in
            for fields in [fields(RequestLimits.headerFields - 2), field(half)] {
                let client = try await RawClient.connect(provider)
                try await client.write(Self.health + fields + "\r\n")
                #expect(try await client.answer().hasPrefix("HTTP/1.1 200 "))
                await client.close()
            }
            for fields in refused {
                let client = try await RawClient.connect(provider)
                try await client.write(Self.health + fields + "\r\n")
                let answer = await client.readToEnd()
                #expect(answer.hasPrefix("HTTP/1.1 431 "), "\(answer)")
                #expect(
                    try Self.problem(answer).text.contains("\(RequestLimits.headerBytes) bytes"), "\(answer)")
                await client.close()
            }
            #expect(try await provider.ask(.GET, "/health").status == 200)
        }
    }

    @Test func `If too many connections are open, a further one waits until one closes`() async throws {
        try await TestProvider.run {
            $0.openConnections = 2
        } _: { provider in
            var open: [RawClient] = []
            for _ in 0..<2 {
                let client = try await RawClient.connect(provider)
                try await client.write(Self.health + "\r\n")
                #expect(try await client.answer().hasPrefix("HTTP/1.1 200 "))
                open.append(client)
            }
            let further = try await RawClient.connect(provider)
            try await further.write(Self.health + "\r\n")
            // The others are still served, and the further one is not.
            for client in open {
                try await client.write(Self.health + "\r\n")
                #expect(try await client.answer().hasPrefix("HTTP/1.1 200 "))
            }
            #expect(!further.hasArrivals)
            await open[0].close()
            #expect(try await further.answer().hasPrefix("HTTP/1.1 200 "))
            for client in [open[1], further] { await client.close() }
        }
    }

    @Test func `An idle connection is closed`() async throws {
        try await TestProvider.run {
            $0.idleTimeout = .seconds(1)
        } _: { provider in
            let silent = try await RawClient.connect(provider)
            let incomplete = try await RawClient.connect(provider)
            // On a busy machine the connection may be closed before anything was written.
            try? await incomplete.write(Self.health)
            for client in [silent, incomplete] { #expect(await client.readToEnd() == "") }
            var answer = ""
            while answer.isEmpty {
                let answered = try await RawClient.connect(provider)
                try? await answered.write(Self.health + "\r\n")
                answer = await answered.readToEnd()
            }
            #expect(answer.hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func `A body that arrives too slowly is refused, also if it never stops`() async throws {
        try await TestShop.run(devices: []) {
            $0.requestTimeout = .seconds(1)
        } _: { shop in
            let head =
                "PUT /v1/installations/i HTTP/1.1\r\nhost: x\r\nauthorization: Bearer \(shop.serverKey)\r\n"
                + "content-length: 10000\r\n\r\n{"
            let stopped = try await RawClient.connect(shop.provider)
            try await stopped.write(head)
            let answer = await stopped.readToEnd()
            #expect(answer.hasPrefix("HTTP/1.1 408 "), "\(answer)")
            #expect(try Self.problem(answer).text.contains("too slowly"))
            // This one sends a byte again and again, and ends when the server closes the connection.
            let dripping = try await RawClient.connect(shop.provider)
            try await dripping.write(head)
            while true {
                do { try await dripping.write(" ") } catch { break }
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(try await shop.provider.ask(.GET, "/v1/installations/i", key: shop.serverKey).status == 404)
        }
    }

    @Test func `A client may wait for 100 before it sends the body, and may offer an upgrade`() async throws {
        try await TestShop.run(devices: []) { shop in
            let client = try await RawClient.connect(shop.provider)
            let body = #"{"deviceToken":"00fc","environment":"development"}"#
            try await client.write(
                "PUT /v1/installations/i HTTP/1.1\r\nhost: x\r\nauthorization: Bearer \(shop.serverKey)\r\n"
                    + "content-length: \(body.utf8.count)\r\nexpect: 100-continue\r\n\r\n")
            #expect(await client.next()?.hasPrefix("HTTP/1.1 100 ") == true)
            try await client.write(body)
            #expect(try await client.answer().hasPrefix("HTTP/1.1 200 "))
            try await client.write(
                Self.health
                    + "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAEAAEAAAAIAAAAA\r\n\r\n")
            let last = await client.readToEnd()
            #expect(last.hasPrefix("HTTP/1.1 200 ") && last.lowercased().contains("connection: close"), "\(last)")
        }
    }

    @Test func `A client that does not read its answer loses the connection`() async throws {
        // 6 MB, which do not fit into the buffers of the system. Make them before a connection can become idle, and send them in
        // parts: on a busy machine an import of all takes longer than the client waits for its answer.
        let value = String(repeating: "a", count: ProviderServerLimits.valueBytes)
        let values = (0..<ProviderServerLimits.values).map { #""n\#($0)":"\#(value)""# }.joined(separator: ",")
        let parts = (0..<4).map { part in
            (part * 300..<(part + 1) * 300).map {
                #"{"id":"i\#($0)","deviceToken":"\#(String(format: "%08x", $0))","environment":"development","values":{\#(values)}}"#
            }.joined(separator: "\n")
        }
        try await TestShop.run(devices: []) {
            // The further connection below is served only after the first one has ended.
            $0.openConnections = 1
            $0.requestTimeout = .seconds(1)
        } _: { shop in
            let path = "/v1/installations/import"
            for lines in parts {
                let imported = try await shop.provider.ask(
                    .POST, path, lines, key: shop.serverKey,
                    headers: [("content-type", "application/x-ndjson"), ("connection", "close")])
                #expect(imported["imported"] == 300, "\(imported.body.text)")
            }
            let client = try await RawClient.connect(shop.provider, reads: false)
            try await client.write(
                "GET /v1/installations?format=ndjson HTTP/1.1\r\nhost: x\r\nauthorization: Bearer \(shop.serverKey)\r\n\r\n"
            )
            #expect(await client.readOnce()?.hasPrefix("HTTP/1.1 200 ") == true)
            #expect(try await shop.provider.ask(.GET, "/health").status == 200)
            await client.close()
        }
    }

    @Test func `A document that is too deep is refused, and the refusal names the limit`() async throws {
        try await TestShop.run(devices: []) { shop in
            func put(_ depth: Int) async throws -> TestProvider.Answer {
                let (open, close) = (String(repeating: "[", count: depth - 1), String(repeating: "]", count: depth - 1))
                return try await shop.provider.ask(
                    .PUT, "/v1/installations/i", #"{"x":\#(open)\#(close)}"#, key: shop.serverKey)
            }
            // This one is read, and its key is unknown.
            #expect(try await put(APILimits.documentDepth).pointer == "/x")
            for depth in [APILimits.documentDepth + 1, 8_000] {
                let answer = try await put(depth)
                #expect(answer.status == 400 && answer.pointer?.hasPrefix("/x") == true)
                #expect(try answer.text("detail").contains("\(APILimits.documentDepth) levels"))
            }
        }
    }

    @Test func `A further message waits until one of those that are sent has ended`() async throws {
        try await TestShop.run(devices: []) { shop in
            // The service refuses these device tokens, which is an outcome too. With this rate a message takes minutes.
            let lines = (0..<100).map {
                #"{"id":"i\#($0)","deviceToken":"\#(String(format: "%08x", $0))","environment":"development"}"#
            }
            let imported = try await shop.provider.ask(
                .POST, "/v1/installations/import", lines.joined(separator: "\n"), key: shop.serverKey,
                headers: [("content-type", "application/x-ndjson")])
            try #require(imported["imported"] == 100)
            var ids: [String] = []
            for _ in 0..<ProviderServerLimits.messagesAtOnce { ids.append(try await shop.send(#","rate":1"#)) }
            for id in ids {
                #expect(try await shop.provider.message(id) { $0["state"] == "running" }["state"] == "running")
            }
            let further = try await shop.send(#","rate":1"#)
            #expect(try await shop.provider.ask(.GET, "/v1/messages/\(further)")["state"] == "scheduled")
            for id in ids { _ = try await shop.provider.ask(.POST, "/v1/messages/\(id)/cancel") }
            #expect(try await shop.provider.message(further) { $0["state"] == "running" }["state"] == "running")
            _ = try await shop.provider.ask(.POST, "/v1/messages/\(further)/cancel")
        }
    }

    @Test func `The rate at which an installation may change is a setting`() async throws {
        func put(_ shop: TestShop) async throws -> TestProvider.Answer {
            try await shop.provider.ask(
                .PUT, "/v1/installations/i", #"{"deviceToken":"00fc","environment":"development"}"#,
                key: shop.clientKey,
                headers: [("installation-secret", "0123456789abcdef")])
        }
        try await TestShop.run(devices: []) {
            $0.installationChanges = Rate(burst: 2, perSecond: 0.0001)
        } _: { shop in
            for _ in 0..<2 { #expect(try await put(shop).status == 200) }
            let refused = try await put(shop)
            #expect(refused.status == 429 && refused.headers.first(name: "retry-after") != nil)
            #expect(try refused.text("detail").contains("changes too often"))
        }
        try await TestShop.run(devices: []) {
            $0.installationChanges.perSecond = 0
        } _: { shop in
            for _ in 0...ProviderServerLimits.installationChanges.burst * 2 {
                let status = try await put(shop).status
                #expect(status == 200)
            }
        }
    }

    // MARK: Settings

    private static func settings(_ environment: [String: String]) throws -> ProviderServer.Settings {
        var settings = ProviderServer.Settings(folder: "/")
        try ProviderServerLimits.read(environment, into: &settings)
        return settings
    }

    /// The limits of settings as text, to compare them.
    private static func shown(_ environment: [String: String]) throws -> String {
        let settings = try settings(environment)
        return "\(settings.openConnections) \(settings.idleTimeout) \(settings.requestTimeout) "
            + "\(settings.installationChanges) \(settings.newInstallations) \(settings.messageDays)"
    }

    @Test func `Each limit is read from its variable, and changes its own setting`() throws {
        var seen = [try Self.shown([:])]
        for limit in ProviderServerLimits.settings {
            for bound in [limit.range.lowerBound, limit.range.upperBound] {
                seen.append(try Self.shown([limit.variable: "\(Int(bound))", "CARILLON_PROVIDER_STORE": "x"]))
            }
        }
        #expect(Set(seen).count == seen.count)
        #expect(try Self.settings(["CARILLON_PROVIDER_LIMIT_OPEN_CONNECTIONS": "7"]).openConnections == 7)
        #expect(try Self.settings(["CARILLON_PROVIDER_LIMIT_CHANGE_RATE": "6"]).installationChanges.perSecond == 0.1)
    }

    @Test func `A wrong limit ends the start, and the error names the variable and what it takes`() throws {
        for limit in ProviderServerLimits.settings {
            for value in ["", "many", "-1", "nan", "1e9"] {
                let error = #expect(throws: ProviderServerError.self) { try Self.settings([limit.variable: value]) }
                let cause = error?.cause ?? ""
                #expect(cause.contains(limit.variable) && cause.contains(limit.meaning), "\(cause)")
            }
        }
        let error = #expect(throws: ProviderServerError.self) {
            try Self.settings(["CARILLON_PROVIDER_LIMIT_IDEL": "1"])
        }
        #expect(error?.cause.contains("docs/provider-server.md") == true)
    }
}
