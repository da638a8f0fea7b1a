import Crypto
import Notifications
import Testing

@testable import Service
@testable import ServiceTesting

/// Which ports there are, and what they serve (docs/channels.md).
@Suite("The plan of the ports", .timeLimit(.minutes(2)))
struct PortPlanTests {
    @Test(arguments: [
        (PortPlan.standard, Environment.development, [[2197], [2195], [2196], [5223]]),
        (.standard, .production, [[12_197], [12_195], [12_196], [15_223]]),
        (.ephemeral, .development, [[0], [0], [0], [0]]), (.ephemeral, .production, [[0], [0], [0], [0]]),
        (.apple, .development, [[443, 2197], [2195], [2196], [5223]]),
        (.apple, .production, [[443, 2197], [2195], [2196], [5223]]),
    ])
    func `Each listener has its ports`(plan: PortPlan, environment: Environment, ports: [[Int]]) {
        #expect([.provider, .binary, .feedback, .courier].map { plan.ports($0, environment) } == ports)
    }

    @Test func `A port can be chosen for each environment, and anything else is refused`() throws {
        var settings = Settings()
        try settings.setPorts(of: .provider, ["443", "production=8443"])
        #expect(settings.chosenPorts == [.provider: [.development: 443, .production: 8443]])
        settings.environments = [.production]
        try settings.setPorts(of: .courier, ["5224"])
        #expect(settings.chosenPorts[.courier] == [.production: 5224])
        for text in ["", "x", "65536", "-1", "staging=1", "=1", "production=", "production=1=2"] {
            #expect(throws: ServiceError.self, "\(text)") { try settings.setPorts(of: .binary, [text]) }
        }
    }

    @Test(arguments: PortPlan.allCases, Environment.allCases)
    func `Channels are announced on a port that has them`(plan: PortPlan, environment: Environment) {
        #expect(plan.hasChannels(plan.channels(environment)))
        #expect(!plan.hasChannels(.provider) && !plan.hasChannels(.courier))
        // Apple has its production service on the port of the feedback service.
        let isApple = plan == .apple
        #expect(plan.hasChannels(.feedback) == isApple)
        #expect(plan.channels(environment) == (isApple && environment == .production ? .feedback : .binary))
    }

    @Test(arguments: [
        (nil, Environment.development), ("localhost", .development),
        ("api-manage-broadcast.push.apple.com", .production),
        ("API.push.apple.com", .production), ("api-manage-broadcast.sandbox.push.apple.com", .development),
        ("api.sandbox.push.apple.com", .development), ("gateway.push.apple.com", .production),
        ("feedback.push.apple.com", .production), ("feedback.sandbox.push.apple.com", .development),
    ])
    func `The server name selects the environment`(name: String?, environment: Environment) {
        #expect(PortPlan.environment(ofServerName: name) == environment)
    }

    /// Many clients have the name of Apple's production service as a constant.
    @Test func `With accept any, Apple's names for production mean development`() async throws {
        try await TestService.run {
            $0.ports = .apple
            $0.usesFreePorts = true
            $0.accept = .any
        } _: { test in
            #expect(test.description.production == nil && test.description.accept == "any")
            let (key, token) = (P256.Signing.PrivateKey(), String(repeating: "ab", count: 32))
            let jwt = try SignedToken.make(key: key.pemRepresentation, keyID: "KEY1234567", teamID: "ABCDE12345")
            for name in ["api.push.apple.com", "api.sandbox.push.apple.com"] {
                let client = try await WireClient.connect(
                    port: test.port(\.provider), authorityFile: test.description.ca, serverName: name)
                let headers = ProviderHeaders(token, topic: "com.example.shop", token: jwt)
                #expect(try await client.send(headers.fields).status == 200)
                await client.close()
            }
        }
    }

    @Test func `With Apple's ports, the name and the protocols of the handshake select what a port serves`()
        async throws
    {
        try await TestService.run {
            $0.ports = .apple
            $0.usesFreePorts = true
            $0.management = .off
        } _: { test in
            let development = try required(test.description.development)
            let production = try required(test.description.production)
            #expect(development.binary == production.binary && development.feedback == production.feedback)
            #expect(development.channels == development.binary)
            #expect(production.channels == production.feedback)
            let token = try test.providerToken()
            func connect(
                _ address: KeyPath<ServiceDescription.Addresses, String>, _ name: String
            ) async throws -> WireClient {
                try await WireClient.connect(
                    port: test.port(address), authorityFile: test.description.ca, serverName: name)
            }
            let names = ["api-manage-broadcast.sandbox.push.apple.com", "api-manage-broadcast.push.apple.com"]
            var channels: [String: String] = [:]
            for name in names {
                let client = try await connect(\.binary, name)
                channels[name] = try await client.create(token: token)
                await client.close()
            }
            for (name, channel) in channels {
                for address in [\ServiceDescription.Addresses.binary, \.feedback] {
                    let client = try await connect(address, name)
                    let listed = try await client.send(
                        ChannelHeaders("GET", "all-channels", token: token).fields, body: "")
                    #expect(listed.body == #"{"channels":["\#(channel)"]}"#)
                    await client.close()
                }
            }
            #expect(Set(channels.values).count == 2)
            // A client without HTTP/2 gets the legacy protocols: an error packet, and an empty feedback list.
            let certificate = try await test.makeCertificate()
            for name in ["gateway.sandbox.push.apple.com", "gateway.push.apple.com"] {
                let binary = try await ByteClient.connect(
                    port: test.port(\.binary), authorityFile: test.description.ca, certificate: certificate,
                    serverName: name)
                try await binary.write([9])
                #expect(await binary.readToEnd().first == 8)
                let feedback = try await ByteClient.connect(
                    port: test.port(\.feedback), authorityFile: test.description.ca, certificate: certificate,
                    serverName: name.replacing("gateway", with: "feedback"))
                #expect(await feedback.readToEnd() == [])
            }
        }
    }
}
