import Crypto
import Management
import ProviderTesting
import Service
import Testing

@testable import ServiceTesting

/// Upstreams that get the client's provider token as it came.
@Suite(.timeLimit(.minutes(5))) struct PassthroughTests {
    private func run(_ body: (GatewayRig) async throws -> Void) async throws {
        try await GatewayRig.run(set: { $0.credentials = .init(kind: "passthrough") }, body)
    }

    @Test func `The client's provider token goes on as it came`() async throws {
        try await run { rig async throws in
            let token = try rig.gateway.providerToken()
            let headers = ProviderHeaders(GatewayRig.token, token: token)
            #expect(try await rig.client.send(headers.fields).status == 200)
            #expect(rig.upstream.log.requests.map(\.token) == ["bearer \(token)"])
        }
    }

    @Test func `A provider token is verified here first`() async throws {
        try await run { rig async throws in
            let unknown = try await rig.gateway.createKey(of: try #require(rig.gateway.description.key).teamID)
            let forged = unknown.with(key: .init())
            let answer = try await rig.client.send(
                ProviderHeaders(GatewayRig.token, token: try forged.token()).fields)
            #expect(answer.reason == "InvalidProviderToken")
            #expect(rig.upstream.log.requests.isEmpty)
        }
    }

    @Test func `Each key has connections of its own`() async throws {
        try await run { rig async throws in
            let team = try #require(rig.gateway.description.key).teamID
            for _ in 0..<2 {
                let provider = try await rig.gateway.createKey(of: team)
                let client = try await rig.gateway.connectProvider()
                for _ in 0..<2 {
                    let headers = ProviderHeaders(GatewayRig.token, token: try provider.token())
                    #expect(try await client.send(headers.fields).status == 200)
                }
                await client.close()
            }
            #expect(rig.upstream.log.connections == 2)
        }
    }

    @Test func `A provider with a certificate has no provider token to pass on`() async throws {
        try await run { rig async throws in
            let client = try await rig.gateway.connectProvider(try await rig.gateway.makeCertificate())
            let answer = try await client.send(ProviderHeaders(GatewayRig.token, token: nil).fields)
            #expect((answer.status, answer.reason) == (403, "MissingProviderToken"))
            await client.close()
        }
    }
}
