import NIOCore
import Testing

@testable import DeviceAgent
@testable import ServiceTesting

/// Requests over HTTP/1.1 of a form that only attackers and faulty programs use.
@Suite(.timeLimit(.minutes(2))) struct RequestFormTests {
    @Test func `A request that is not certain is refused, and nothing behind it is read`() async throws {
        try await TestService.run { service in
            try await withAgentFolder { folder in
                try await AgentRig.run(on: service, folder: folder) { rig in
                    let address = try SocketAddress(unixDomainSocketPath: rig.agent.settings.socket)
                    for form in RawHTTP.refusedOnSockets {
                        let statuses = try await RawHTTP.statuses(form.bytes("/openapi.json"), at: address)
                        #expect(statuses == form.statuses, "\(form.name)")
                    }
                    let broken = RawHTTP.brokenChunk("/v1/apps/com.example.app/handled")
                    #expect(try await RawHTTP.statuses(broken, at: address).count == 1)
                    for host in ["", "localhost"] {
                        let whole = RawHTTP.absolute("http://anything/openapi.json", host: host)
                        #expect(try await RawHTTP.statuses(whole, at: address) == [200])
                    }
                }
            }
        }
    }
}
