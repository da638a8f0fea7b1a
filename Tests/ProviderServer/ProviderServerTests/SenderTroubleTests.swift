import CommonTesting
import Crypto
import NIOHTTP1
import Notifications
import ProviderTesting
import Service
import Synchronization
import Testing

@testable import APNSProvider
@testable import ProviderServer
@testable import ServiceTesting

/// What is nobody's fault among the recipients: the sender's key and clock, the way to the service, and braces in a text.
@Suite(.timeLimit(.minutes(3))) struct SenderTroubleTests {
    /// The same with fewer recipients than those whose failures together stop a pass.
    @Test(arguments: ["ExpiredProviderToken", "InvalidProviderToken", "Forbidden", "TooManyProviderTokenUpdates"])
    func `An answer about the sender pauses the message, and is nobody's failure`(reason: String) async throws {
        try await TestShop.run(devices: Array(repeating: nil, count: 40)) {
            $0.deadline = .seconds(2)
            $0.clock = CampaignTroubleTests.impatient
        } _: { shop in
            try await shop.register()
            let answer = try await shop.carillon.ask(
                "POST", "/v1/rehearsals", body: #"{"rules":[{"fault":{"answer":{"reason":"\#(reason)"}}}]}"#)
            try #require(answer.status == 200, "\(answer.text)")
            let id = try await shop.send()
            let message = try await shop.provider.message(id) { $0["state"] != "running" && $0["state"] != "scheduled" }
            #expect(message["state"] == "paused", "\(message.body.text)")
            #expect(message["accepted"] == 0 && message["failed"] == 0, "\(message.body.text)")
            let cause = try message.text("cause")
            #expect(cause.contains(reason), "\(cause)")
            #expect(cause.contains("clock") == (reason == "ExpiredProviderToken"), "\(cause)")
        }
    }

    @Test func `Pages of a server in between fail nobody, and the message waits with the cause`() async throws {
        let isOver = Shared(false)
        try await ScriptedServer.run(script: { request, connection in
            if isOver.value { return connection.answer(request.stream) }
            connection.answer(request.stream, status: 502, id: nil, body: "<html>Bad gateway</html>")
        }) { server in
            let document: JSONValue = [
                "teamID": "ABCDE12345",
                "environments": [
                    "development": [
                        "url": .string("https://127.0.0.1:\(server.port)"),
                        "authority": .string(try TestAuthority.rootPEM()),
                        "key": ["keyID": "KEY7654321", "privateKey": .string(Self.key())],
                    ]
                ],
            ]
            try await TestProvider.run {
                $0.deadline = .milliseconds(200)
                $0.clock = CampaignTroubleTests.impatient
            } _: { provider in
                let key = try await provider.ask(.PUT, "/v1/apps/\(TestShop.bundleID)", document.text).text("serverKey")
                for index in 0..<10 {
                    _ = try await provider.ask(
                        .PUT, "/v1/installations/i\(index)",
                        #"{"deviceToken":"0\#(index)5a5a5a5a5a5a5a","environment":"development"}"#,
                        key: key)
                }
                let id = try await provider.ask(
                    .POST, "/v1/messages", #"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}}}"#, key: key
                ).text("id")
                // More passes than a notification has that the service fails to answer.
                await server.log.requests(10 * (ProviderServerLimits.passes + 3))
                let waiting = try await provider.message(id) { $0["cause"] != nil }
                #expect(waiting["state"] == "running" && waiting["failed"] == 0, "\(waiting.body.text)")
                #expect(try waiting.text("cause").contains("status 502"), "\(waiting.body.text)")
                isOver.value = true
                let message = try await provider.finished(id)
                #expect(message["accepted"] == 10 && message["failed"] == 0, "\(message.body.text)")
            }
        }
    }

    private static func key() -> String { P256.Signing.PrivateKey().pemRepresentation }

    @Test func `The push service and hooks are reached through the proxy`() async throws {
        try await ConnectProxy.run(.answers("HTTP/1.1 503 Busy\r\n\r\n")) { proxy in
            let proxies = try ProxyRules(variables: ["HTTPS_PROXY": proxy.url, "NO_PROXY": "*.other.example"])
            try await TestProvider.run {
                $0.deadline = .seconds(1)
                $0.clock = CampaignTroubleTests.impatient
                $0.proxies = proxies
            } _: { provider in
                let document = TestShop.other().replacing("127.0.0.1:1", with: "push.example.com")
                let key = try await provider.ask(.PUT, "/v1/apps/\(TestShop.bundleID)", document).text("serverKey")
                _ = try await provider.ask(
                    .PUT, "/v1/installations/i", #"{"deviceToken":"5a5a5a5a5a5a5a5a","environment":"development"}"#,
                    key: key)
                let hook = try await provider.ask(
                    .POST, "/v1/hooks", #"{"url":"https://hooks.example.com:8443/x"}"#, key: key)
                #expect(hook.status == 201)
                let channels = try await provider.ask(.GET, "/v1/channels?environment=development", key: key)
                #expect(channels.status == 409)
                let id = try await provider.ask(
                    .POST, "/v1/messages", #"{"audience":{"everybody":true},"payload":{"aps":{"alert":"x"}}}"#, key: key
                ).text("id")
                let waiting = try await provider.message(id) { $0["cause"] != nil }
                #expect(try waiting.text("cause").contains("the proxy refused with status 503"), "\(waiting.body.text)")
                _ = try await provider.ask(.POST, "/v1/messages/\(id)/cancel", key: key)
                #expect(proxy.requests.contains { $0.hasPrefix("CONNECT push.example.com:443 ") })
                // A message without a value for its template ends without the push service, and the hook hears of it.
                _ = try await provider.ask(
                    .POST, "/v1/messages", #"{"audience":{"everybody":true},"payload":{"aps":{"alert":"{{name}}"}}}"#,
                    key: key)
                try await wait(
                    while: !proxy.requests.contains { $0.hasPrefix("CONNECT hooks.example.com:8443 ") })
            }
        }
    }

    /// An address that the system reads as one of this machine, in whatever form it is written.
    @Test(arguments: [
        "https://127.1/x", "https://2130706433/x", "https://0x7f.0.0.1/x", "https://0.0.0.0/x", "https://[::]/x",
        "https://localhost./x", "https://a.localhost/x", "https://[::ffff:127.0.0.1]/x",
    ])
    func `The key of an app adds no hook on this machine, in any form`(url: String) async throws {
        try await TestShop.run(devices: [], { $0.allowsLocalHooks = false }) { shop in
            let refused = try await shop.provider.ask(.POST, "/v1/hooks", #"{"url":"\#(url)"}"#, key: shop.serverKey)
            #expect(refused.status == 403 && refused.pointer == "/url", "\(refused.body.text)")
        }
    }

    @Test func `Four braces are two of a text`() async throws {
        try await TestShop.run(devices: [nil]) { shop in
            try await shop.register(0, #","values":{"name":"Anna {{x}}"}"#)
            let payload =
                #"{"aps":{"alert":{"title":"{{{{name}}","body":"{{{{ {{name}} {{{{{{{{ } }}"}},"a":["{{{{"],"b":"{ {x"}"#
            _ = try await shop.provider.finished(try await shop.send(payload: payload))
            let expected: JSONValue = [
                "aps": ["alert": ["title": "{{name}}", "body": "{{ Anna {{x}} {{{{ } }}"]], "a": ["{{"], "b": "{ {x",
            ]
            #expect(try await shop.received().map(\.payload) == [expected])
            let all = try await shop.provider.finished(try await shop.send(payload: #"{"aps":{"alert":"{{{{all}}"}}"#))
            #expect(all["title"] == "{{all}}")
            #expect(try await shop.received().last?.payload == ["aps": ["alert": "{{all}}"]])
        }
    }

    /// A value that closures share.
    private final class Shared<Value: Sendable>: Sendable {
        private let state: Mutex<Value>
        init(_ value: Value) { state = Mutex(value) }
        var value: Value {
            get { state.withLock { $0 } }
            set { state.withLock { $0 = newValue } }
        }
    }
}
