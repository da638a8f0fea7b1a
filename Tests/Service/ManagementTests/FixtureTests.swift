import Delivery
import Foundation
import Management
import NIOHTTP1
import NIOSSL
import Notifications
import Service
import Synchronization
import Testing
import VirtualDevices

@testable import ServiceTesting

/// Fixtures and virtual devices, over the wire.
@Suite(.timeLimit(.minutes(3)))
struct FixtureTests {
    static let named = "00fc13adff785122"

    static let document = """
        {"teams":[{"teamID":"ABCDE12345","name":"Shop","apps":["com.example.shop"],
          "keys":[{"keyID":"KEY1234567"}],
          "certificates":[{"bundleID":"com.example.shop","environment":"universal","format":"p12","passphrase":"s3"}],
          "devices":[{"name":"phone","tokens":{"com.example.shop":"\(named)"}},
                     {"name":"tablet","behaviour":{"kind":"offline"}},
                     {"name":"gone","behaviour":{"kind":"removed","since":1700000000000}},
                     {"name":"old","behaviour":{"kind":"expired"}},
                     {"name":"mute","behaviour":{"kind":"silent"}},
                     {"name":"slow","behaviour":{"kind":"slow","delay":"PT0.02S"}}]}]}
        """

    /// Makes the team ABCDE12345 with the app `a.b` and this device, whose name is `phone`.
    private static func makeDevice(_ test: TestService, _ device: String) async throws -> (id: String, token: String) {
        let body = #"{"teams":[{"teamID":"ABCDE12345","apps":["a.b"],"devices":[\#(device)]}]}"#
        return try MadeFixture(try await test.ask("POST", "/v1/fixtures", body: body)).device("phone", bundleID: "a.b")
    }

    private static func outcome(_ test: TestService, _ number: Int, _ outcome: String) async throws {
        let answer = try await test.ask(
            "POST", "/v1/requests/wait",
            body: #"{"match":{"after":\#(number - 1),"outcome":"\#(outcome)"},"timeout":"PT60S"}"#)
        #expect(answer.status == 200, "\(answer.text)")
    }

    @Test func `Every behaviour gets the documented answer`() async throws {
        try await TestService.runInMemory { test in
            let made = try MadeFixture(try await test.ask("POST", "/v1/fixtures", body: Self.document))
            #expect(made.team["name"] as? String == "Shop")
            let service = try required(made.document["service"] as? [String: Any])
            #expect((service["caPEM"] as? String)?.hasPrefix("-----BEGIN CERTIFICATE") == true)
            #expect(
                (service["development"] as? [String: String])?["provider"] == test.description.development?.provider)
            let client = try await test.connectProvider()
            let jwt = try made.providerToken()
            func send(_ name: String) async throws -> WireClient.Answer {
                let headers = ProviderHeaders(try made.device(name).token, topic: "com.example.shop", token: jwt)
                return try await client.send(headers.fields, body: #"{"aps":{"alert":"x"}}"#)
            }
            #expect(try made.device("phone").token == Self.named)
            #expect(try await send("phone").status == 200)
            try await Self.outcome(test, 1, "delivered")
            #expect(try await send("tablet").status == 200)
            try await Self.outcome(test, 2, "stored")
            #expect(try await send("tablet").status == 200)
            try await Self.outcome(test, 2, "replaced")
            let gone = try await send("gone")
            #expect(gone.status == 410 && gone.reason == "Unregistered")
            #expect(gone.body.contains("1700000000000"))
            let old = try await send("old")
            #expect(old.status == 410 && old.reason == "ExpiredToken")
            #expect(try await send("mute").status == 200)
            try await Self.outcome(test, 6, "stored")
            #expect(try await send("slow").status == 200)
            try await Self.outcome(test, 7, "delivered")
            await client.close()
        }
    }

    @Test func `A behaviour can be changed while the service runs, and stored notifications then arrive`() async throws
    {
        try await TestService.runInMemory { test in
            let made = try MadeFixture(try await test.ask("POST", "/v1/fixtures", body: Self.document))
            let (id, token) = try made.device("tablet")
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(token, topic: "com.example.shop", token: try made.providerToken())
            #expect(try await client.send(headers.fields).status == 200)
            try await Self.outcome(test, 1, "stored")
            func change(_ behaviour: String) async throws -> [String: Any] {
                let answer = try await test.ask(
                    "PATCH", "/v1/devices/\(id)", body: #"{"behaviour":\#(behaviour)}"#)
                #expect(answer.status == 200, "\(answer.text)")
                return answer.problem ?? [:]
            }
            let online = try await change(#"{"kind":"online"}"#)
            #expect(online["connected"] as? Bool == true && online["virtual"] as? Bool == true)
            try await Self.outcome(test, 1, "delivered")
            _ = try await change(#"{"kind":"expired"}"#)
            #expect(try await client.send(headers.fields).reason == "ExpiredToken")
            _ = try await change(#"{"kind":"removed","since":1600000000000}"#)
            let gone = try await client.send(headers.fields)
            #expect(gone.reason == "Unregistered" && gone.body.contains("1600000000000"))
            _ = try await change(#"{"kind":"online"}"#)
            #expect(try await client.send(headers.fields).status == 200)
            let listed = try await test.ask("GET", "/v1/devices?limit=1")
            #expect(listed.headers["link"].count == 1)
            await client.close()
        }
    }

    @Test func `Deleting a team deletes its devices, tokens and requests`() async throws {
        try await TestService.runInMemory { test in
            let made = try MadeFixture(try await test.ask("POST", "/v1/fixtures", body: Self.document))
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(
                try made.device("phone").token, topic: "com.example.shop", token: try made.providerToken())
            #expect(try await client.send(headers.fields).status == 200)
            #expect(try await test.ask("POST", "/v1/fixtures", body: Self.document).status == 409)
            let again = try MadeFixture(try await test.ask("POST", "/v1/fixtures?replace=true", body: Self.document))
            #expect(try again.device("phone").id != made.device("phone").id)
            #expect(try await test.ask("GET", "/v1/requests?team=ABCDE12345").text == "[]")
            #expect(try await test.ask("DELETE", "/v1/teams/ABCDE12345").status == 200)
            #expect(try await test.ask("GET", "/v1/devices").text == "[]")
            // Make it again with the same tokens: nothing of the first one is left.
            _ = try MadeFixture(try await test.ask("POST", "/v1/fixtures", body: Self.document))
            await client.close()
        }
    }

    @Test func `The 409 for the app of another team says that a bundle ID is unique across teams`() async throws {
        try await TestService.runInMemory { test in
            let document = #"{"teams":[{"teamID":"ABCDE12345","apps":["com.example.shop"]}]}"#
            #expect(try await test.ask("POST", "/v1/fixtures", body: document).status == 200)
            let own = #"{"team":"ABCDE12345","bundleID":"com.example.shop"}"#
            let again = try await test.ask("POST", "/v1/apps", body: own)
            #expect(again.status == 409 && !again.text.contains("unique across teams"), "\(again.text)")
            let others = document.replacing("ABCDE12345", with: "ABCDE12346")
            let answer = try await test.ask("POST", "/v1/fixtures", body: others)
            #expect(
                answer.status == 409 && answer.text.contains("a bundle ID is unique across teams"), "\(answer.text)")
        }
    }

    @Test func `The delivery log has the token that the fixture named`() async throws {
        try await TestService.runInMemory { test in
            let named = "00fc13adff785122"
            let document =
                #"{"teams":[{"apps":["com.example.shop"],"devices":[{"name":"phone","tokens":{"com.example.shop":"\#(named)"}}]}]}"#
            let made = try MadeFixture(try await test.ask("POST", "/v1/fixtures", body: document))
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(named, topic: "com.example.shop", token: try made.providerToken())
            #expect(try await client.send(headers.fields).status == 200)
            await client.close()
            let log = try await test.ask("GET", "/v1/log?token=\(named)").text
            for event in ["accepted", "sent", "acknowledged"] { #expect(log.contains(#""\#(event)""#), "\(log)") }
        }
    }

    /// A device that is never online says nothing, so the sweep alone can notice the end.
    @Test func `A wait sees that a stored notification has expired`() async throws {
        try await TestService.runInMemory { test in
            let document =
                #"{"teams":[{"apps":["com.example.shop"],"devices":[{"name":"phone","behaviour":{"kind":"offline"}}]}]}"#
            let made = try MadeFixture(try await test.ask("POST", "/v1/fixtures", body: document))
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(
                try made.device("phone").token, topic: "com.example.shop", token: try made.providerToken())
            let expiration = String(Int(Date().timeIntervalSince1970) + 1)
            #expect(try await client.send(headers.with("apns-expiration", expiration).fields).status == 200)
            await client.close()
            let answer = try await test.ask(
                "POST", "/v1/requests/wait", body: #"{"match":{"outcome":"expired"},"timeout":"PT50S"}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    @Test func `Replacing deletes each team that has an identifier of the document, but not that of the first start`()
        async throws
    {
        try await TestService.runInMemory { test in
            // Without a team ID, each document is of a new team.
            for document in [
                #"{"teams":[{"apps":["com.example.shop"]}]}"#, #"{"teams":[{"keys":[{"keyID":"SHOPKEY001"}]}]}"#,
            ] {
                let first = try MadeFixture(try await test.ask("POST", "/v1/fixtures", body: document))
                #expect(try await test.ask("POST", "/v1/fixtures", body: document).status == 409)
                #expect(try await test.ask("POST", "/v1/fixtures?replace=true", body: document).status == 200)
                #expect(
                    try await test.ask("GET", "/v1/teams/\(try required(first.team["teamID"] as? String))").status
                        == 404)
            }
            _ = try await test.makeDeviceToken()
            #expect(try await test.ask("POST", "/v1/fixtures?replace=true", body: Self.firstApp).status == 409)
        }
    }

    private static let firstApp = #"{"teams":[{"teamID":"ABCDE12345","apps":["com.example.app"]}]}"#

    private static func team(of app: String, _ test: TestService) async throws -> String {
        let shown: ManagementMessages.App = try await test.administer("GET", "/v1/apps/\(app)")
        return shown.teamID
    }

    @Test func `A fixture takes over the app of the first start, once`() async throws {
        try await TestService.runInMemory { test in
            let taken = try await test.ask("POST", "/v1/fixtures", body: Self.firstApp)
            #expect(taken.status == 200, "\(taken.text)")
            #expect(try await Self.team(of: "com.example.app", test) == "ABCDE12345")
            let others = Self.firstApp.replacing("ABCDE12345", with: "ABCDE12346")
            #expect(try await test.ask("POST", "/v1/fixtures", body: others).status == 409)
            #expect(try await test.ask("POST", "/v1/fixtures?replace=true", body: Self.firstApp).status == 200)
        }
    }

    @Test func `The app of the first start stays with its team if somebody uses it, or if the fixture fails`()
        async throws
    {
        try await TestService.runInMemory { test in
            let first = try required(test.description.key).teamID
            let wrong = #"{"teams":[{"apps":["com.example.app"],"devices":[{"behaviour":{"kind":"x"}}]}]}"#
            #expect(try await test.ask("POST", "/v1/fixtures", body: wrong).status == 400)
            #expect(try await Self.team(of: "com.example.app", test) == first)
            _ = try await test.makeDeviceToken()
            let answer = try await test.ask("POST", "/v1/fixtures", body: Self.firstApp)
            #expect(answer.status == 409 && answer.text.contains("/teams/0/apps/0"), "\(answer.text)")
            #expect(try await Self.team(of: "com.example.app", test) == first)
        }
    }

    @Test(arguments: [
        #"/v1/apps {"team":"TEAM","bundleID":"com.example.more"}"#, #"/v1/keys {"team":"TEAM"}"#,
        #"/v1/channels {"bundleID":"com.example.app"}"#,
        #"/v1/certificates {"team":"TEAM","bundleID":"com.example.app","environment":"development"}"#,
        #"/v1/devices {"team":"TEAM","apps":["com.example.app"]}"#,
    ]) func `What somebody has made for the app of the first start keeps it`(_ use: String) async throws {
        try await TestService.runInMemory { test in
            let words = use.replacing("TEAM", with: try required(test.description.key).teamID).split(separator: " ")
            let made = try await test.ask("POST", String(words[0]), body: String(words[1]))
            #expect(made.status == 200, "\(made.text)")
            #expect(try await test.ask("POST", "/v1/fixtures", body: Self.firstApp).status == 409)
        }
    }

    @Test func `Only strict refuses identifiers that no developer account has`() async throws {
        let document =
            #"{"teams":[{"teamID":"my-team","apps":["com.example.mine"],"keys":[{"keyID":"my_key"}],"#
            + #""devices":[{"name":"phone"}]}]}"#
        try await TestService.runInMemory { test in
            let made = try MadeFixture(try await test.ask("POST", "/v1/fixtures", body: document))
            let headers = ProviderHeaders(
                try made.device("phone", bundleID: "com.example.mine").token, topic: "com.example.mine",
                token: try made.providerToken())
            let client = try await test.connectProvider()
            #expect(try await client.send(headers.fields).status == 200)
            await client.close()
        }
        try await TestService.runWrapping({ $0 }, { $0.conformance = .strict }) { test in
            let team = try required(test.description.key).teamID
            for (path, body, pointer) in [
                ("/v1/fixtures", document, "/teams/0/teamID"),
                ("/v1/fixtures", #"{"teams":[{"keys":[{"keyID":"KEY123456"}]}]}"#, "/teams/0/keys/0/keyID"),
                ("/v1/teams", #"{"name":"Mine","teamID":"ABCDE1234a"}"#, "/teamID"),
                ("/v1/keys", #"{"team":"\#(team)","keyID":"my-key"}"#, "/keyID"),
            ] {
                let answer = try await test.ask("POST", path, body: body)
                #expect(answer.status == 400 && answer.text.contains(#""pointer":"\#(pointer)""#), "\(answer.text)")
            }
            let good = #"{"teams":[{"teamID":"ABCDE12345","keys":[{"keyID":"KEY1234567"}]}]}"#
            #expect(try await test.ask("POST", "/v1/fixtures", body: good).status == 200)
        }
    }

    @Test(arguments: [
        (#"{"team":[]}"#, 400, "/team"), (#"{"teams":[{"teamID":"a b"}]}"#, 400, "/teams/0/teamID"),
        (#"{"teams":[{"apps":["a"]},{"apps":["a"]}]}"#, 409, "/teams/1/apps/0"),
        (#"{"teams":[{"keys":[{"privateKey":"-----BEGIN PRIVATE KEY-----"}]}]}"#, 400, "/teams/0/keys/0/privateKey"),
        (#"{"teams":[{"certificates":[{}]}]}"#, 400, "/teams/0/certificates/0"),
        (#"{"teams":[{"apps":["a"],"certificates":[{"passphrase":"x"}]}]}"#, 400, "/teams/0/certificates/0/passphrase"),
        (#"{"teams":[{"apps":["a"],"certificates":[{"format":"p12"}]}]}"#, 400, "/teams/0/certificates/0/passphrase"),
        (#"{"teams":[{"apps":["a"],"certificates":[{"format":"pfx"}]}]}"#, 400, "/teams/0/certificates/0/format"),
        (#"{"teams":[{"apps":["a"],"certificates":[{"bundleID":"b"}]}]}"#, 409, "/teams/0/certificates/0/bundleID"),
        (#"{"teams":[{"devices":[{"environment":"production"}]}]}"#, 400, "/teams/0/devices/0/environment"),
        (#"{"teams":[{"devices":[{"apps":["a"]}]}]}"#, 400, "/teams/0/devices/0/apps/0"),
        (#"{"teams":[{"devices":[{"behaviour":{"kind":"x"}}]}]}"#, 400, "/teams/0/devices/0/behaviour/kind"),
        (
            #"{"teams":[{"devices":[{"behaviour":{"kind":"slow","delay":"x"}}]}]}"#, 400,
            "/teams/0/devices/0/behaviour/delay"
        ),
        (#"{"teams":[{"apps":["a"],"devices":[{"tokens":{"a":"00"}}]}]}"#, 400, "/teams/0/devices/0/tokens/a"),
        (
            #"{"teams":[{"apps":["a"],"devices":[{"tokens":{"a":"0011223344556677"}},{"tokens":{"a":"0011223344556677"}}]}]}"#,
            409, "/teams/0/devices/1/tokens/a"
        ),
        (
            #"{"teams":[{"apps":["a"],"devices":[{"tokens":{"b":"0011223344556677"}}]}]}"#, 400,
            "/teams/0/devices/0/tokens/b"
        ),
    ])
    func `An invalid fixture is refused as a whole, with the place of the fault`(
        document: String,
        status: Int,
        pointer: String,
    ) async throws {
        try await TestService.runInMemory { test in
            let before = try await test.ask("GET", "/v1/teams").text
            let answer = try await test.ask("POST", "/v1/fixtures", body: document)
            #expect(answer.status == status, "\(answer.text)")
            #expect(answer.problem?["pointer"] as? String == pointer, "\(answer.text)")
            #expect(try await test.ask("GET", "/v1/teams").text == before)
        }
    }

    @Test func `The numbers of virtual devices and of their apps are limited`() async throws {
        let (devices, apps) = (VirtualDeviceLimits.devices, VirtualDeviceLimits.apps)
        func list(_ element: String, _ count: Int) -> String {
            "[" + Array(repeating: element, count: count).joined(separator: ",") + "]"
        }
        let bundleIDs = "[" + (0...apps).map { "\"app\($0)\"" }.joined(separator: ",") + "]"
        let halfAndOne = list("{}", devices / 2 + 1)
        let bad: [(team: String, status: Int, pointer: String)] = [
            (#"{"devices":\#(list("{}", devices + 1))}"#, 400, "/teams/0/devices"),
            (#"{"devices":\#(halfAndOne)},{"devices":\#(halfAndOne)}"#, 409, "/teams"),
            (#"{"apps":\#(bundleIDs),"devices":[{}]}"#, 400, "/teams/0/apps"),
            (#"{"devices":[{"apps":\#(bundleIDs)}]}"#, 400, "/teams/0/devices/0/apps"),
            (
                #"{"devices":[{"behaviour":{"kind":"slow","delay":"PT3601S"}}]}"#, 400,
                "/teams/0/devices/0/behaviour/delay"
            ),
        ]
        let offline = list(#"{"behaviour":{"kind":"offline"}}"#, devices)
        try await TestService.runInMemory { test in
            for fixture in bad {
                let answer = try await test.ask("POST", "/v1/fixtures", body: #"{"teams":[\#(fixture.team)]}"#)
                #expect(answer.status == fixture.status)
                #expect(answer.problem?["pointer"] as? String == fixture.pointer, "\(answer.text)")
            }
            let full = #"{"teams":[{"teamID":"ABCDE12345","devices":\#(offline)}]}"#
            #expect(try await test.ask("POST", "/v1/fixtures", body: full).status == 200)
            let more = try await test.ask("POST", "/v1/devices", body: #"{"team":"ABCDE12345"}"#)
            #expect(more.status == 409, "\(more.text)")
            #expect(try await test.ask("DELETE", "/v1/teams/ABCDE12345").status == 200)
        }
    }

    /// Runs a service whose store can fail.
    private static func runFailing(_ body: (TestService, FailingStore) async throws -> Void) async throws {
        let stores = Mutex<[FailingStore]>([])
        let wrap = { @Sendable (store: any Store) -> any Store in
            let failing = FailingStore(store)
            stores.withLock { $0.append(failing) }
            return failing
        }
        try await TestService.runWrapping(wrap) { test in
            try await body(test, try required(stores.withLock { $0.first }))
        }
    }

    @Test func `A fixture that fails leaves a team alone that somebody else has made meanwhile`() async throws {
        try await Self.runFailing { test, store in
            let team = Team(id: try required(TeamID(rawValue: "ABCDE12345")), name: "Theirs")
            store.precede(with: .createTeam(team))
            let answer = try await test.ask("POST", "/v1/fixtures", body: Self.document)
            #expect(answer.status == 409, "\(answer.text)")
            let kept: ManagementMessages.Team = try await test.administer("GET", "/v1/teams/ABCDE12345")
            #expect(kept.name == "Theirs")
        }
    }

    @Test func `A fixture that fails half-way in the store leaves nothing behind`() async throws {
        try await Self.runFailing { test, store in
            func listed() async throws -> [String] {
                var texts: [String] = []
                for list in ["teams", "apps", "keys", "certificates", "devices"] {
                    texts.append(try await test.ask("GET", "/v1/\(list)").text)
                }
                return texts
            }
            let before = try await listed()
            var failures = 0
            while true {
                store.fail(failures + 1)
                let answer = try await test.ask("POST", "/v1/fixtures", body: Self.document)
                if store.takeLeft() {
                    _ = try MadeFixture(answer)
                    break
                }
                failures += 1
                #expect(answer.status >= 400, "\(answer.text)")
                #expect(try await listed() == before, "The call \(failures) failed.")
            }
            // At least these writes can fail: the team, its app, key and certificate, and the apps of six devices.
            #expect(failures >= 10)
            #expect(try await test.ask("DELETE", "/v1/teams/ABCDE12345").status == 200)
            #expect(try await listed() == before)
        }
    }

    @Test func `Virtual devices end with the service, even if the store is on disk`() async throws {
        let first = { (test: TestService) async throws -> String in
            let made = try MadeFixture(
                try await test.ask(
                    "POST", "/v1/fixtures",
                    body: #"{"teams":[{"teamID":"ABCDE12345","apps":["com.example.shop"],"devices":[{"name":"phone"},"#
                        + #"{"name":"tablet","behaviour":{"kind":"offline"}}]}]}"#))
            let token = try made.device("tablet").token
            let status = try await Self.send(to: token, test)
            #expect(status == 200)
            let listed = try await test.ask("GET", "/v1/devices").text
            #expect(listed.components(separatedBy: #""virtual":true"#).count == 3)
            return token
        }
        let second = { (test: TestService, token: String) async throws in
            let listed = try await test.ask("GET", "/v1/devices").text
            #expect(listed == "[]")
            let team = try await test.ask("GET", "/v1/teams/ABCDE12345").status
            #expect(team == 200)
            let status = try await Self.send(to: token, test)
            #expect(status == 410)
        }
        try await TestService.runTwice(first, second)
    }

    /// - Returns: the status that a provider would have got.
    private static func send(to token: String, _ test: TestService) async throws -> Int? {
        let sent = try await test.ask(
            "POST", "/v1/notifications",
            body: #"{"token":"\#(token)","topic":"com.example.shop","payload":{"aps":{"alert":"x"}}}"#)
        return sent.problem?["status"] as? Int
    }

    @Test func `A fixture can return a certificate as PKCS12 too`() async throws {
        try await TestService.runInMemory { test in
            let made = try MadeFixture(try await test.ask("POST", "/v1/fixtures", body: Self.document))
            let certificate = try required((made.team["certificates"] as? [[String: Any]])?.first)
            let p12 = try required(Data(base64Encoded: required(certificate["p12"] as? String)))
            let bundle = try NIOSSLPKCS12Bundle(buffer: Array(p12), passphrase: Array("s3".utf8))
            #expect(bundle.certificateChain.count == 1)
            let chain = try required(certificate["chain"] as? String)
            #expect(chain.components(separatedBy: "BEGIN CERTIFICATE").count == 2)
            let whole = try MadeFixture(
                try await test.ask(
                    "POST", "/v1/fixtures",
                    body: #"{"teams":[{"apps":["a.b"],"certificates":[{"includesChain":true}]}]}"#))
            let other = try required((whole.team["certificates"] as? [[String: Any]])?.first)
            #expect((other["chain"] as? String)?.components(separatedBy: "BEGIN CERTIFICATE").count == 3)
            #expect(throws: (any Error).self) {
                try NIOSSLPKCS12Bundle(buffer: Array(p12), passphrase: Array("other".utf8))
            }
        }
    }

    @Test func `A dry run returns the answers of the gateway and of strict, and sends nothing`() async throws {
        try await TestService.runInMemory { test in
            let (id, token) = try await Self.makeDevice(test, #"{"name":"phone"}"#)
            func check(_ more: String, token: String = token) async throws -> [String: Any] {
                let answer = try await test.ask(
                    "POST", "/v1/notifications?dryRun=true",
                    body: #"{"token":"\#(token)","topic":"a.b",\#(more)}"#)
                #expect(answer.status == 200, "\(answer.text)")
                return try required(answer.problem)
            }
            let good = try await check(#""payload":{"aps":{"alert":"x"}},"pushType":"alert""#)
            #expect(good["status"] as? Int == 200 && good["apnsID"] == nil && good["strict"] == nil)
            #expect(good["bytes"] as? Int == 21 && good["maximumBytes"] as? Int == 4096)
            let lax = try await check(#""payload":{"aps":{"bagde":1}},"pushType":"alert""#)
            let strict = try required(lax["strict"] as? [String: Any])
            #expect(lax["status"] as? Int == 200 && strict["reason"] as? String == "PayloadEmpty")
            #expect((strict["detail"] as? String)?.contains("aps.bagde") == true)
            let refused = try await check(#""payload":{"aps":{"alert":"x"}},"priority":3"#)
            #expect(refused["status"] as? Int == 400 && refused["reason"] as? String == "BadPriority")
            let unknown = try await check(#""payload":{}"#, token: String(repeating: "0", count: 64))
            #expect(unknown["reason"] as? String == "BadDeviceToken")
            _ = try await test.ask(
                "PATCH", "/v1/devices/\(id)", body: #"{"behaviour":{"kind":"removed"}}"#)
            let gone = try await check(#""payload":{"aps":{"alert":"x"}},"pushType":"alert""#)
            #expect(gone["status"] as? Int == 410 && gone["reason"] as? String == "Unregistered")
            #expect(try await test.ask("GET", "/v1/requests").text == "[]")
            #expect(try await test.ask("GET", "/v1/log").text.isEmpty)
        }
    }

    @Test func `A notification without a provider is in the journal with its outcome, and in no report`()
        async throws
    {
        try await TestService.runInMemory { test in
            let token = try await Self.makeDevice(test, #"{"name":"phone"}"#).token
            // Rehearsals affect only requests of providers, and this test sends without a provider.
            let rehearsal = #"{"rules":[{"name":"all","fault":{"answer":{"reason":"TooManyRequests"}}}]}"#
            #expect(try await test.ask("POST", "/v1/rehearsals", body: rehearsal).status == 200)
            _ = try await test.ask(
                "POST", "/v1/notifications",
                body: #"{"token":"\#(token)","topic":"a.b","payload":{"aps":{"alert":"x"}},"pushType":"alert"}"#)
            _ = try await test.ask(
                "POST", "/v1/notifications", body: #"{"token":"00","topic":"a.b","payload":{"aps":{}}}"#)
            let waited = try await test.ask(
                "POST", "/v1/requests/wait", body: #"{"match":{"protocol":"management","outcome":"delivered"}}"#)
            let request = try required((waited.problem?["requests"] as? [[String: Any]])?.first)
            #expect(request["team"] as? String == "ABCDE12345" && request["connection"] as? String == "management")
            #expect(request["status"] as? Int == 200 && request["keyID"] == nil)
            #expect(request["headers"] as? [String: String] == ["apns-topic": "a.b", "apns-push-type": "alert"])
            #expect(request["payload"] as? [String: [String: String]] == ["aps": ["alert": "x"]])
            let refused = try await test.ask("GET", "/v1/requests?outcome=rejected").text
            #expect(refused.contains(#""reason":"BadDeviceToken""#))
            let report = try await test.ask("GET", "/v1/reports?team=ABCDE12345")
            let findings = try required(report.problem?["findings"] as? [[String: Any]])
            #expect(findings.allSatisfy { $0["id"] as? String == "rule-never-fired" }, "\(report.text)")
        }
    }

    @Test func `A virtual device with low power delays notifications that can wait`() async throws {
        try await TestService.runInMemory { test in
            let (id, token) = try await Self.makeDevice(test, #"{"name":"phone","power":"low"}"#)
            #expect(try await test.ask("GET", "/v1/devices/\(id)").problem?["power"] as? String == "low")
            // A device that has just connected is awake. When this one has come, what comes next waits.
            _ = try await test.ask(
                "POST", "/v1/notifications",
                body: #"{"token":"\#(token)","topic":"a.b","payload":{"aps":{"alert":"now"}}}"#)
            let first = try await test.ask("POST", "/v1/requests/wait", body: #"{"match":{"outcome":"delivered"}}"#)
            #expect(first.status == 200, "\(first.text)")
            _ = try await test.ask(
                "POST", "/v1/notifications",
                body: #"{"token":"\#(token)","topic":"a.b","payload":{"aps":{"alert":"x"}},"priority":5}"#)
            let stored = try await test.ask("POST", "/v1/requests/wait", body: #"{"match":{"outcome":"stored"}}"#)
            #expect(stored.status == 200, "\(stored.text)")
            let changed = try await test.ask("PATCH", "/v1/devices/\(id)", body: #"{"power":"charging"}"#)
            #expect(changed.problem?["power"] as? String == "charging")
            let delivered = try await test.ask(
                "POST", "/v1/requests/wait", body: #"{"match":{"outcome":"delivered"},"count":2}"#)
            #expect(delivered.status == 200, "\(delivered.text)")
            #expect(try await test.ask("PATCH", "/v1/devices/\(id)", body: "{}").status == 400)
            #expect(
                try await test.ask("PATCH", "/v1/devices/\(id)", body: #"{"power":"full"}"#).problem?["pointer"]
                    as? String == "/power")
        }
    }

    @Test func `A device is added to a team, and gets a notification without a provider`() async throws {
        try await TestService.runInMemory { test in
            let made = try await test.ask(
                "POST", "/v1/fixtures", body: #"{"teams":[{"teamID":"ABCDE12345","apps":["a.b"]}]}"#)
            #expect(made.status == 200)
            let device = try await test.ask("POST", "/v1/devices", body: #"{"team":"ABCDE12345","name":"tv"}"#)
            #expect(device.status == 200, "\(device.text)")
            let app = try required((device.problem?["apps"] as? [[String: Any]])?.first)
            let token = try required(app["token"] as? String)
            let sent = try await test.ask(
                "POST", "/v1/notifications",
                body: #"{"token":"\#(token)","topic":"a.b","payload":{"aps":{"alert":"x"}},"priority":10}"#)
            #expect(sent.problem?["status"] as? Int == 200, "\(sent.text)")
            let refused = try await test.ask(
                "POST", "/v1/notifications",
                body: #"{"token":"\#(token)","topic":"a.b","payload":{"aps":{}},"priority":3}"#)
            #expect(refused.status == 200)
            #expect(refused.problem?["reason"] as? String == "BadPriority")
            let id = try required(device.problem?["deviceID"] as? String)
            #expect(try await test.ask("DELETE", "/v1/devices/\(id)").status == 200)
            let gone = try await test.ask(
                "POST", "/v1/notifications", body: #"{"token":"\#(token)","topic":"a.b","payload":{}}"#)
            #expect(gone.problem?["reason"] as? String == "Unregistered")
        }
    }
}
