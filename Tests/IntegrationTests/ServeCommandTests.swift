import Foundation
import Testing

/// `carillon serve`: its ready line and its end.
@Suite(.timeLimit(.minutes(2))) struct ServeCommandTests {
    @Test func theReadyLineNamesEveryListenerAndTheAuthority() async throws {
        try await CarillonProcess.with { service in
            let line = try JSONValue(service.readyLine)
            #expect(line.keys == ["event", "development", "production", "ca"])
            #expect(line["event"] == "ready")
            #expect(line["ca"]?.text == service.data + "/ca.pem")
            for environment in ["development", "production"] {
                let addresses = try #require(line[environment])
                #expect(addresses.keys.isSuperset(of: ["provider", "courier"]))
                for name in addresses.keys {
                    let address = try #require(addresses[name]?.text)
                    #expect(address.hasPrefix("127.0.0.1:"))
                    #expect(Int(address.dropFirst("127.0.0.1:".count)) ?? 0 > 0)
                }
            }
        }
    }
}
