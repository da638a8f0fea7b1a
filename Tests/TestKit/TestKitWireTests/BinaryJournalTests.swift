import Foundation
import NIOHTTP1
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// The journal of the binary API, over the wire (Guide, 3.1).
@Suite("The journal of the binary API", .timeLimit(.minutes(2))) struct BinaryJournalTests {
    private struct Rig {
        let test: TestService
        let certificate: ClientCertificate
        let token: String

        func connect() async throws -> ByteClient {
            try await ByteClient.connect(
                port: test.port(\.binary), authorityFile: test.description.ca, certificate: certificate)
        }

        /// A notification in the format of command 2 (Guide, Tables A-1 to A-3).
        func packet(_ identifier: UInt8, _ alert: String, token: String? = nil) throws -> [UInt8] {
            let device = try required(Hexadecimal.bytes(token ?? self.token))
            let items =
                Self.item(1, device) + Self.item(2, Array(#"{"aps":{"alert":"\#(alert)"}}"#.utf8))
                + Self.item(3, [0, 0, 0, identifier]) + Self.item(5, [10])
            return [2, 0, 0, UInt8(items.count >> 8), UInt8(items.count & 0xff)] + items
        }

        private static func item(_ number: UInt8, _ data: [UInt8]) -> [UInt8] {
            [number, UInt8(data.count >> 8), UInt8(data.count & 0xff)] + data
        }

        /// Waits until this many requests match, and returns them.
        func wait(_ match: String, count: Int = 1) async throws -> [[String: Any]] {
            let answer = try await test.ask(
                "POST", "/v1/requests/wait", body: #"{"match":\#(match),"count":\#(count),"timeout":"PT60S"}"#)
            #expect(answer.status == 200, "\(answer.text)")
            return try required(answer.problem?["requests"] as? [[String: Any]])
        }
    }

    private static func run(_ body: (Rig) async throws -> Void) async throws {
        try await TestService.runInMemory { test in
            try await body(
                Rig(
                    test: test, certificate: try await test.makeCertificate("development"),
                    token: try await test.makeDeviceToken()))
        }
    }

    /// `carillon send --binary` ends with one.
    @Test func `A frame with an identifier alone is answered, and is no request`() async throws {
        try await Self.run { rig in
            let client = try await rig.connect()
            try await client.write(rig.packet(1, "hi") + [2, 0, 0, 0, 7, 3, 0, 4, 255, 255, 255, 255])
            #expect(await client.readToEnd() == [8, 2, 255, 255, 255, 255])
            _ = try await rig.wait(#"{"outcome":"stored"}"#)
            #expect(try await rig.test.requests("").count == 1)
        }
    }

    @Test func `A notification is kept with its certificate, its payload and its outcome`() async throws {
        try await Self.run { rig in
            let client = try await rig.connect()
            try await client.write(rig.packet(1, "hi"))
            let found = try await rig.wait(#"{"protocol":"binary","outcome":"stored"}"#)
            let request = try required(found.first)
            #expect(request["number"] as? Int == 1)
            #expect(request["connection"] as? String == "c1")
            #expect(request["environment"] as? String == "development")
            #expect(request["protocol"] as? String == "binary")
            #expect(request["team"] as? String == rig.test.description.key?.teamID)
            #expect(request["certificate"] as? String == rig.certificate.serial)
            #expect(request["keyID"] == nil)
            #expect((request["headers"] as? [String: String])?.isEmpty == true)
            #expect(request["token"] as? String == rig.token)
            #expect((request["device"] as? String)?.count == 16)
            #expect(request["topic"] as? String == rig.test.bundleID)
            #expect(request["payload"] as? [String: [String: String]] == ["aps": ["alert": "hi"]])
            #expect(request["status"] as? Int == 200)
            #expect(request["reason"] == nil)
            await client.close()
        }
    }

    @Test func `A rejected notification has the error packet's status and name, and later ones are not in the journal`()
        async throws
    {
        try await Self.run { rig in
            let client = try await rig.connect()
            let unknown = String(repeating: "ab", count: 32)
            try await client.write(rig.packet(1, "one") + rig.packet(2, "two", token: unknown) + rig.packet(3, "three"))
            #expect(await client.readToEnd() == [8, 8, 0, 0, 0, 2])
            _ = try await rig.wait(#"{"protocol":"binary"}"#, count: 2)
            let all = try await rig.test.ask("GET", "/v1/requests?protocol=binary")
            let requests = try required(JSONSerialization.jsonObject(with: all.body) as? [[String: Any]])
            #expect(requests.map { $0["status"] as? Int } == [200, 8])
            #expect(requests.map { $0["reason"] as? String } == [nil, "InvalidToken"])
            #expect(requests.map { $0["token"] as? String } == [rig.token, unknown])
            #expect(requests.last?["outcome"] as? String == "rejected")
            #expect(requests.last?["device"] == nil)
        }
    }

    @Test func `Waits, matches and clearing distinguish the two interfaces`() async throws {
        try await Self.run { rig in
            let provider = try await rig.test.connectProvider()
            let headers = ProviderHeaders(rig.token, token: try rig.test.providerToken())
            #expect(try await provider.send(headers.fields).status == 200)
            let client = try await rig.connect()
            try await client.write(rig.packet(1, "one") + rig.packet(2, "two"))
            let both = try await rig.wait(#"{"protocol":"binary"}"#, count: 2)
            #expect(both.map { $0["number"] as? Int } == [2, 3])
            #expect(Set(both.compactMap { $0["connection"] as? String }) == ["c2"])
            let missed = try await rig.test.ask(
                "POST", "/v1/requests/wait",
                body: #"{"match":{"protocol":"binary","payload":{"aps":{"alert":"three"}}},"timeout":"PT0.01S"}"#)
            #expect(missed.status == 408)
            #expect(missed.text.contains(#""differs":["payload"]"#), "\(missed.text)")
            #expect(try await rig.test.ask("DELETE", "/v1/requests?protocol=binary").text == #"{"deleted":2}"#)
            #expect(try await rig.wait("{}").map { $0["protocol"] as? String } == ["h2"])
            await client.close()
            await provider.close()
        }
    }

    @Test func `A rehearsal's rule is named, with the answer that it caused`() async throws {
        try await Self.run { rig in
            let begun = try await rig.test.ask(
                "POST", "/v1/rehearsals",
                body:
                    #"{"rules":[{"name":"going","match":{"protocol":"binary"},"fault":{"errorPacket":{"status":10}}}]}"#
            )
            #expect(begun.status == 200, "\(begun.text)")
            let client = try await rig.connect()
            try await client.write(rig.packet(7, "one"))
            #expect(await client.readToEnd() == [8, 10, 0, 0, 0, 7])
            let request = try required(try await rig.wait(#"{"status":10,"reason":"Shutdown"}"#).first)
            #expect(request["rule"] as? String == "going")
        }
    }
}
