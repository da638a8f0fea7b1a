import Foundation
import Service
import Testing

@testable import ServiceTesting

/// Provider certificates of another authority, with `--accept any`.
@Suite("A certificate of another authority", .timeLimit(.minutes(2)))
struct ForeignCertificateTests {
    private static let token = String(repeating: "a1", count: 32)

    private static func run(
        accept: AcceptChoice = .any,
        _ body: (TestService) async throws -> Void,
    ) async throws {
        try await TestService.runWrapping({ $0 }) {
            $0.accept = accept
        } _: {
            try await body($0)
        }
    }

    @Test func `It counts for the team of its subject, and for the topics of its extension`() async throws {
        try await Self.run { test in
            let client = try await test.connectProvider(ForeignCertificate().make())
            let headers = ProviderHeaders(Self.token, topic: "com.example.shop.voip", token: nil)
            #expect(try await client.send(headers.fields).status == 200)
            #expect(try await client.send(headers.with("apns-topic", nil).fields).reason == "MissingTopic")
            #expect(
                try await client.send(headers.with("apns-topic", "com.example.other").fields).reason
                    == "TopicDisallowed")
            let first = try required(try await test.requests().first)
            #expect(first["team"] as? String == "APPLETEAM1" && first["unverified"] as? Bool == true)
            #expect((first["certificate"] as? String)?.utf8.count == 32)
            let team = try await test.ask("GET", "/v1/teams/APPLETEAM1")
            #expect(team.problem?["bundleIDs"] as? [String] == ["com.example.shop"])
            await client.close()
        }
    }

    @Test func `Without the extension, its topic is its UID or its common name`() async throws {
        try await Self.run { test in
            for (uid, commonName) in [("com.example.one", "x"), (nil, "Apple Push Services: com.example.two")] {
                var certificate = ForeignCertificate(uid: uid, commonName: commonName, unit: nil, topics: nil)
                certificate.markers = []
                let client = try await test.connectProvider(certificate.make())
                let headers = ProviderHeaders(Self.token, token: nil).with("apns-topic", nil)
                #expect(try await client.send(headers.fields).status == 200)
                await client.close()
            }
            #expect(
                try await test.requests().map { $0["topic"] as? String } == ["com.example.one", "com.example.two"])
        }
    }

    @Test func `It works with the binary API`() async throws {
        try await Self.run { test in
            let certificate = try ForeignCertificate().make()
            #expect(try await test.sendBinary(Self.token, by: certificate))
            let request = try required(try await test.requests().first)
            #expect(request["protocol"] as? String == "binary" && request["unverified"] as? Bool == true)
            #expect(request["team"] as? String == "APPLETEAM1" && request["topic"] as? String == "com.example.shop")
            #expect(request["device"] != nil)
        }
    }

    @Test func `The service's own certificates are accepted as always, with new device tokens`() async throws {
        try await Self.run { test in
            let certificate = try await test.makeCertificate()
            #expect(try await test.sendBinary(Self.token, by: certificate))
            #expect(try required(try await test.requests().first)["unverified"] == nil)
            try await test.revoke(certificate)
            let client = try await test.connectProvider(certificate)
            #expect(await !client.isServed(ProviderHeaders(Self.token, token: nil).fields))
            await client.close()
        }
    }

    @Test func `A certificate of the other environment, an expired one and one without a topic are refused`()
        async throws
    {
        try await Self.run { test in
            let headers = ProviderHeaders(Self.token, topic: "com.example.shop", token: nil)
            let production = try await test.connectProvider(ForeignCertificate(markers: [2]).make())
            #expect(try await production.send(headers.fields).reason == "BadCertificateEnvironment")
            await production.close()
            for certificate in [
                ForeignCertificate(notAfter: Date(timeIntervalSinceNow: -60)),
                ForeignCertificate(uid: nil, commonName: "No topic!", topics: nil),
            ] {
                let client = try await test.connectProvider(certificate.make())
                #expect(await !client.isServed(headers.fields))
                await client.close()
            }
        }
    }

    @Test func `Without it, the handshake refuses them`() async throws {
        try await Self.run(accept: .known) { test in
            let client = try await test.connectProvider(ForeignCertificate().make())
            #expect(await !client.isServed(ProviderHeaders(Self.token, topic: "com.example.shop", token: nil).fields))
            await client.close()
        }
    }
}
