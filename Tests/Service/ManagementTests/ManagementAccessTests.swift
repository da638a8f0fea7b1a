import AsyncHTTPClient
import Foundation
import HTTPAPI
import Management
import NIOCore
import NIOHTTP1
import NIOPosix
import Rates
import Service
import Testing

@testable import ServiceTesting

/// The ways to the management API, and which clients are refused.
@Suite(.timeLimit(.minutes(2))) struct ManagementAccessTests {
    @Test func `Over TCP every request needs the key, except those for the state of the service`() async throws {
        try await TestService.run { test in
            for path in ["/health", "/ready", "/metrics"] {
                #expect(try await test.ask("GET", path, key: "").status == 200)
            }
            for path in ["/v1/teams", "/v1/log", "/openapi.json", "/v1/nothing"] {
                let answer = try await test.ask("GET", path, key: "")
                #expect(answer.status == 401)
                #expect(answer.headers.first(name: "www-authenticate") == "Bearer")
                #expect(answer.headers.first(name: "content-type") == "application/problem+json")
            }
            #expect(try await test.ask("GET", "/v1/teams", key: "wrong").status == 401)
            #expect(try await test.ask("GET", "/v1/teams").status == 200)
        }
    }

    @Test func `The root leads to the console`() async throws {
        try await TestService.run { test in
            // The client follows the redirection.
            let answer = try await test.ask("GET", "/", key: "")
            let page = try await test.ask("GET", "/console", key: "")
            #expect(answer.status == 200 && answer.body == page.body)
        }
    }

    @Test func `Requests without a key have a rate, those with the key have none`() async throws {
        try await TestService.run {
            $0.managementLimits.withoutKey = Rate(burst: 3, perSecond: 0.001)
        } _: { test in
            var statuses: [Int] = []
            for (path, key) in [("/metrics", ""), ("/v1/nothing", ""), ("/v1/teams", "wrong"), ("/metrics", "")] {
                statuses.append(try await test.ask("GET", path, key: key).status)
            }
            #expect(statuses == [200, 401, 401, 429])
            // Others without a key do not keep a supervisor from learning that the service is well.
            for path in ["/health", "/ready"] { #expect(try await test.ask("GET", path, key: "").status == 200) }
            for _ in 0..<5 { #expect(try await test.ask("GET", "/metrics").status == 200) }
            #expect(try await test.ask("GET", "/" + String(repeating: "x", count: 1000), key: "").status == 429)
        }
    }

    @Test func `A web page has no access, neither under another host name nor from another origin nor with a form`()
        async throws
    {
        try await TestService.run { test in
            let team = #"{"name":"Shop"}"#
            let attempts = [
                ("host", "evil.example"), ("origin", "https://evil.example"),
                ("content-type", "application/x-www-form-urlencoded"),
            ]
            for attempt in attempts {
                let answer = try await test.ask("POST", "/v1/teams", headers: [attempt], body: team)
                #expect(answer.status == 403 || answer.status == 415, "\(attempt)")
            }
            #expect(try await test.ask("GET", "/health", key: "", headers: [attempts[0]]).status == 403)
            let teams: [ManagementMessages.Team] = try await test.administer("GET", "/v1/teams")
            #expect(teams.map(\.name) == ["Development"])
        }
    }

    @Test func `The key is in the data folder, only its owner can read it, and it does not change`() async throws {
        try await TestService.runTwice { test in
            let file = try required(test.description.management).keyFile
            let rights = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(rights == 0o600)
            return try test.managementKey
        } _: { test, key in
            let (kept, answer) = (try test.managementKey, try await test.ask("GET", "/v1/teams", key: key))
            #expect(kept == key && answer.status == 200)
        }
    }

    @Test func `TCP can be switched off, and the socket stays`() async throws {
        try await TestService.run {
            $0.management = .off
        } _: { test in
            #expect(test.description.management == nil)
            let answer = try await test.manage("GET", "/ready")
            #expect(answer.status == 200)
        }
    }

    @Test func `Over TLS only administrators have access`() async throws {
        try await TestService.run(TestService.withManagementTLS) { test in
            let administrator = try await test.makeAdministrator()
            #expect(try await test.ask("GET", "/v1/teams", as: administrator).status == 200)
            #expect(try await test.ask("GET", "/v1/teams", as: nil).status == 403)
            #expect(try await test.ask("GET", "/health", as: nil).status == 200)
            for other in [try await test.makeCertificate(), try await test.makeDeviceCertificate()] {
                await #expect(throws: (any Error).self) { try await test.ask("GET", "/v1/teams", as: other).status }
            }
            let provider = try await test.connectProvider(administrator)
            #expect(await !provider.isServed(ProviderHeaders("00", token: nil).fields))
        }
    }

    @Test func `Neither an administrator nor the key can make an administrator`() async throws {
        try await TestService.run(TestService.withManagementTLS) { test in
            let administrator = try await test.makeAdministrator()
            #expect(try await test.ask("POST", "/v1/administrators", as: administrator).status == 403)
            #expect(try await test.ask("POST", "/v1/administrators").status == 403)
        }
    }

    @Test func `Without the setting nothing listens with TLS`() async throws {
        try await TestService.run { test in #expect(test.description.managementTLS == nil) }
    }

    @Test func `Connections without requests lock nobody out`() async throws {
        try await TestService.run { test in
            let address = try required(URLComponents(string: test.managementURL))
            var silent: [any Channel] = []
            for _ in 0..<(ManagementLimits().connections + 20) {
                silent.append(
                    try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                        .connect(host: try required(address.host), port: try required(address.port)).get())
            }
            #expect(try await test.ask("GET", "/metrics", key: "").status == 200)
            for channel in silent { channel.close(promise: nil) }
        }
    }

    @Test func `If all connections are busy, a further one is closed, and that is counted`() async throws {
        try await TestService.run {
            $0.managementLimits.connections = 1
        } _: { test in
            let client = HTTPClient()
            let follow = try await client.execute(
                test.request("GET", "/v1/log?follow=true"), deadline: .distantFuture)
            #expect(follow.status == .ok)
            let address = try required(URLComponents(string: test.managementURL))
            let refused = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: try required(address.host), port: try required(address.port)).get()
            try await refused.closeFuture.get()
            try await test.metricsSay("management-connections")
            try await client.shutdown()
        }
    }

    @Test func `A body or headers that are too large are refused`() async throws {
        try await TestService.run { test in
            let large = String(repeating: " ", count: APILimits.bodyBytes) + #"{"name":"Shop"}"#
            let tooLarge = try await test.ask("POST", "/v1/teams", body: large)
            #expect(tooLarge.status == 413)
            let long = [("x-long", String(repeating: "x", count: 20_000))]
            let tooLong = try await test.ask("GET", "/v1/teams", headers: long)
            #expect(tooLong.status >= 400)
            #expect(try await test.ask("GET", "/v1/teams").status == 200)
        }
    }

    @Test func `A name in a path may be percent-encoded, and must not be empty`() async throws {
        try await TestService.run { test in
            let team = try required(test.description.key).teamID
            let encoded = "%" + String(try required(team.utf8.first), radix: 16) + team.dropFirst()
            #expect(try await test.ask("GET", "/v1/teams/" + encoded).status == 200)
            for path in ["/v1/teams/", "/v1//teams"] {
                #expect(try await test.ask("GET", path).status == 404, "\(path)")
            }
            #expect(try await test.ask("GET", "/v1/teams?limit=1&limit=2").status == 400)
        }
    }

    @Test func `Streams leave room for other requests, and network connections for the socket`() async throws {
        try await TestService.run { test in
            let follow = try test.request("GET", "/v1/log?follow=true")
            var configuration = HTTPClient.Configuration()
            configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = ManagementLimits().streams
            let client = HTTPClient(configuration: configuration)
            try await withThrowingTaskGroup(of: HTTPClientResponse.self) { group in
                for _ in 0..<ManagementLimits().streams {
                    group.addTask { try await client.execute(follow, deadline: .distantFuture) }
                }
                var open: [HTTPClientResponse] = []
                for try await response in group { open.append(response) }
                #expect(open.allSatisfy { $0.status == .ok })
                let more = try await test.ask("GET", "/v1/log?follow=true")
                #expect(more.status == 503)
                #expect(try await test.manage("GET", "/ready").status == 200)
                #expect(try await test.ask("GET", "/ready").status == 200)
                test.stop()
                for response in open { for try await _ in response.body {} }
            }
            try await client.shutdown()
        }
    }

    @Test func `An unknown path is 404, and a method that a path does not allow is 405`() async throws {
        try await TestService.run { test in
            let nothing = try await test.ask("GET", "/v1/teams/ABCDE12345/more")
            #expect(nothing.status == 404 && nothing.problem?["title"] as? String == "Not Found")
            let method = try await test.ask("PUT", "/v1/teams", body: "{}")
            #expect(method.status == 405 && method.headers.first(name: "allow") == "GET, HEAD, POST")
            #expect(try await test.ask("HEAD", "/v1/teams").status == 200)
        }
    }

    @Test func `A body that does not follow the schema is 400`() async throws {
        try await TestService.run { test in
            for body in ["", "x", "[]", "{", #"{"name":1}"#, "\u{0}", "[[[[[[[[[["] {
                let answer = try await test.ask("POST", "/v1/teams", body: body)
                #expect(answer.status == 400 && answer.problem?["pointer"] != nil, "\(body)")
            }
        }
    }
}
