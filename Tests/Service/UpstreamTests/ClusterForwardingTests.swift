#if PostgreSQL
    import APNSProvider
    import CommonTesting
    import Foundation
    import Management
    import ProviderTesting
    import Service
    import Testing

    @testable import ServiceTesting

    /// Two nodes that share a database: each forwards.
    @Suite(.timeLimit(.minutes(5)), .startsPrograms) struct ClusterForwardingTests {
        @Test func `An upstream that is set at one node is used by the other, and what it holds is sent once`()
            async throws
        {
            try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
                try await TwoServices.run { one, two in
                    var document = ManagementMessages.NewUpstream(
                        url: "https://127.0.0.1:1", authority: try TestAuthority.rootPEM(),
                        credentials: try GatewayRig.ownKey())
                    document.hold = "PT1H"
                    try await one.setUpstream(document)
                    let client = try await two.connectProvider()
                    let id = UUID().uuidString.lowercased()
                    let headers = ProviderHeaders(GatewayRig.token, token: try one.providerToken()).with("apns-id", id)
                    // The other node learns of it within its interval.
                    try await wait(while: try await client.send(headers.fields).status != 200)
                    // Nobody can be reached yet. Then the address is corrected, with the credentials as they are.
                    try await two.setUpstream(
                        .init(
                            url: "https://127.0.0.1:\(server.port)", authority: try TestAuthority.rootPEM(),
                            credentials: nil))
                    await server.log.requests(1)
                    let more = headers.with("apns-id", UUID().uuidString.lowercased()).fields
                    #expect(try await client.send(more).status == 200)
                    await server.log.requests(2)
                    #expect(server.log.requests.count { $0.headers["apns-id"] == id } == 1)
                    await client.close()
                }
            }
        }
    }
#endif
