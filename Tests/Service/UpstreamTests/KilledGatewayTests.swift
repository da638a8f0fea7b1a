import APNSProvider
import CommonTesting
import Crypto
import Foundation
import ProviderTesting
import Service
import Testing

@testable import ServiceTesting

/// A gateway that is killed while it forwards.
@Suite(.timeLimit(.minutes(5)), .startsPrograms) struct KilledGatewayTests {
    private static let rounds = 5
    private static let requests = 40

    @Test func `A 200 is never the gateway's own, also if the gateway is killed`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            try await withTemporaryFolder { folder in
                for round in 0..<Self.rounds {
                    try await CarillonProcess.with(data: folder + "/data") { gateway in
                        if round == 0 { try await Self.setUpstream(server, gateway, folder) }
                        let accepted = try await Self.accepted(by: gateway, killedAfter: server)
                        let forwarded = Set(server.log.requests.compactMap { $0.headers["apns-id"] })
                        #expect(forwarded.isSuperset(of: accepted))
                    }
                }
                // No identifier came twice: nothing was sent again after a start.
                let ids = server.log.requests.compactMap { $0.headers["apns-id"] }
                #expect(ids.count == Set(ids).count)
            }
        }
    }

    private static func setUpstream(
        _ server: ScriptedServer, _ gateway: CarillonProcess, _ folder: String,
    ) async throws {
        let (key, authority) = (folder + "/own.p8", folder + "/upstream.pem")
        try P256.Signing.PrivateKey().pemRepresentation.write(toFile: key, atomically: true, encoding: .utf8)
        try TestAuthority.rootPEM().write(toFile: authority, atomically: true, encoding: .utf8)
        let set = try await gateway.carillon(
            "app", "upstream", "set", "--bundle-id", "com.example.app", "--environment", "development", "--url",
            "https://127.0.0.1:\(server.port)", "--ca", authority, "--key-file", key, "--key-id", "GATEWAY001",
            "--team-id", "PUBLISHER1")
        #expect(set.status == 0, "\(set.errors)")
    }

    /// Sends many notifications at once, and kills the gateway when the upstream has got some of them.
    /// - Returns: the identifiers of those that were answered 200.
    private static func accepted(
        by gateway: CarillonProcess, killedAfter server: ScriptedServer,
    ) async throws -> Set<String> {
        let client = try await gateway.connect()
        let token = try gateway.developmentProvider.token()
        // The first valid provider token allows more than one request at a time.
        let first = ProviderHeaders(GatewayRig.token, token: token)
        #expect(try await client.send(first.fields).status == 200)
        let before = server.log.requests.count
        return await withTaskGroup(of: String?.self) { group in
            for _ in 0..<requests {
                let id = UUID().uuidString.lowercased()
                let headers = first.with("apns-id", id).fields
                // Those that are under way fail when the gateway is killed.
                group.addTask { (try? await client.send(headers))?.status == 200 ? id : nil }
            }
            await server.log.requests(before + requests / 4)
            _ = await gateway.stop(SIGKILL)
            var accepted: Set<String> = []
            for await id in group { if let id { accepted.insert(id) } }
            return accepted
        }
    }
}
