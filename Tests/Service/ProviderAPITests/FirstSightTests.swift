import Crypto
import Foundation
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// The limits of `--accept any`, the addresses from which it works, and what remains of it.
@Suite("What is made at first sight", .timeLimit(.minutes(2)))
struct FirstSightTests {
    private static func headers(
        _ token: Int = 0,
        topic: String = "com.example.unknown",
        team: String = "UNKNOWN123",
    ) throws -> ProviderHeaders {
        let provider = Provider(teamID: team, keyID: "NEWKEY1234", key: .init())
        let token = String(repeating: String(format: "%04x", token), count: 16)
        return ProviderHeaders(token, topic: topic, token: try provider.token())
    }

    /// Sends on a connection of its own, and returns the reason; "" for 200.
    @discardableResult
    private static func send(
        _ headers: ProviderHeaders,
        to test: TestService,
        opening: [UInt8] = [],
    ) async throws -> String {
        let client = try await WireClient.connect(
            port: test.port(\.provider), authorityFile: test.description.ca, opening: opening)
        let answer = try await client.send(headers.fields)
        await client.close()
        return answer.reason ?? ""
    }

    private static func names(_ path: String, _ key: String, _ test: TestService) async throws -> Set<String> {
        let answer = try await test.ask("GET", path)
        let list = try required(JSONSerialization.jsonObject(with: answer.body) as? [[String: Any]])
        return Set(list.compactMap { $0[key] as? String })
    }

    @Test func `The oldest team is forgotten, but none with a key`() async throws {
        try await TestService.runWrapping({ $0 }) {
            $0.accept = .any
            $0.acceptLimits.teams = 2
        } _: { test in
            for number in 1...2 {
                #expect(
                    try await Self.send(
                        Self.headers(number, topic: "com.example.app\(number)", team: "TEAM00000\(number)"), to: test)
                        == "")
            }
            // Another identifier than that of the unknown key.
            let body = #"{"team":"TEAM000001","keyID":"OTHERKEY12"}"#
            #expect(try await test.ask("POST", "/v1/keys", body: body).status == 200)
            for number in 3...5 {
                #expect(
                    try await Self.send(
                        Self.headers(number, topic: "com.example.app\(number)", team: "TEAM00000\(number)"), to: test)
                        == "")
            }
            let teams = try await Self.names("/v1/teams", "teamID", test)
            #expect(Set(teams.filter { $0.hasPrefix("TEAM0") }) == ["TEAM000001", "TEAM000004", "TEAM000005"])
            let devices = try await Self.names("/v1/devices", "name", test)
            #expect(!devices.contains(String(repeating: "0003", count: 16)))
            // A forgotten team is made again.
            #expect(
                try await Self.send(Self.headers(3, topic: "com.example.app3", team: "TEAM000003"), to: test) == "")
        }
    }

    @Test func `The oldest app is forgotten`() async throws {
        try await TestService.runWrapping({ $0 }) {
            $0.accept = .any
            $0.acceptLimits.apps = 2
        } _: { test in
            for number in 1...4 {
                #expect(try await Self.send(Self.headers(topic: "com.example.app\(number)"), to: test) == "")
            }
            let apps = try await Self.names("/v1/apps", "bundleID", test)
            #expect(apps == ["com.example.app", "com.example.app3", "com.example.app4"])
        }
    }

    @Test func `The oldest device is forgotten, and is made again when its token is used again`() async throws {
        try await TestService.runWrapping({ $0 }) {
            $0.accept = .any
            $0.acceptLimits.devices = 3
        } _: { test in
            let client = try await test.connectProvider()
            let headers = try Self.headers()
            for number in [1, 2, 3, 4, 5, 1] {
                let token = String(repeating: "000\(number)", count: 16)
                #expect(try await client.send(headers.with(":path", "/3/device/\(token)").fields).status == 200)
            }
            await client.close()
            let names = try await Self.names("/v1/devices", "name", test)
            #expect(names == Set([4, 5, 1].map { String(repeating: "000\($0)", count: 16) }))
            let wait = try await test.ask(
                "POST", "/v1/requests/wait", body: #"{"match":{"outcome":"delivered"},"count":6}"#)
            #expect(wait.status == 200, "\(wait.text)")
        }
    }

    @Test func `It works from this machine, and from other addresses only if they are named`() async throws {
        try await TestService.runWrapping({ $0 }) {
            $0.accept = .any
            try? $0.setProxies(["127.0.0.1"])
            try? $0.setAcceptAnyFrom(["192.0.2.0/24"])
        } _: { test in
            func send(from address: String) async throws -> String {
                let opening = Array("PROXY TCP4 \(address) 127.0.0.1 50000 2197\r\n".utf8)
                return try await Self.send(Self.headers(), to: test, opening: opening)
            }
            #expect(try await send(from: "198.51.100.7") == "InvalidProviderToken")
            // A load balancer that says this does not make it true.
            #expect(try await send(from: "127.0.0.1") == "InvalidProviderToken")
            #expect(try await send(from: "192.0.2.7") == "")
            // What was made is known to everybody; the device token of another address is not.
            let token = try await test.limitedToken(of: "UNKNOWN123")
            let known = ProviderHeaders(
                String(repeating: "77", count: 32), topic: "com.example.unknown", token: token)
            let opening = Array("PROXY TCP4 198.51.100.7 127.0.0.1 50000 2197\r\n".utf8)
            #expect(try await Self.send(known, to: test, opening: opening) == "BadDeviceToken")
        }
    }

    @Test func `An app cannot have an upstream, and a store with one does not start`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cs-\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = "/v1/apps/com.example.app/upstreams/development"
        let body = #"{"url":"https://localhost:1","credentials":{"kind":"passthrough"}}"#
        try await TestService.run {
            $0.dataFolder = folder.path
            $0.accept = .any
        } _: { test in
            let answer = try await test.ask("PUT", path, body: body)
            #expect(answer.status == 409 && answer.text.contains("--accept any"), "\(answer.text)")
        }
        try await TestService.run {
            $0.dataFolder = folder.path
        } _: { test in
            let answer = try await test.ask("PUT", path, body: body)
            #expect(answer.status == 200, "\(answer.text)")
        }
        await #expect(throws: ServiceError.self) {
            try await TestService.run {
                $0.dataFolder = folder.path
                $0.accept = .any
            } _: { _ in
            }
        }
    }

    @Test func `In a store on disk, teams and apps remain without a key, and devices do not`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cs-\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: folder) }
        for accept in [AcceptChoice.any, .known, .any] {
            try await TestService.run {
                $0.dataFolder = folder.path
                $0.accept = accept
            } _: { test in
                let reason = try await Self.send(Self.headers(), to: test)
                #expect(reason == (accept == .any ? "" : "InvalidProviderToken"))
                let teams = try await Self.names("/v1/teams", "name", test)
                #expect(teams.contains("UNKNOWN123 (made at first sight)"))
                #expect(try await Self.names("/v1/devices", "name", test).isEmpty == (accept == .known))
            }
        }
    }

    @Test func `A team that an earlier start made counts among those that may be forgotten`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cs-\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: folder) }
        for number in 1...3 {
            try await TestService.run {
                $0.dataFolder = folder.path
                $0.accept = .any
                $0.acceptLimits.teams = 2
            } _: { test in
                let headers = try Self.headers(topic: "com.example.app\(number)", team: "TEAM00000\(number)")
                #expect(try await Self.send(headers, to: test) == "")
                let teams = try await Self.names("/v1/teams", "teamID", test)
                #expect(teams.count { $0.hasPrefix("TEAM0") } == min(number, 2))
            }
        }
    }
}
