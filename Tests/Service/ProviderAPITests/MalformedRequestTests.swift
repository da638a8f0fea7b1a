import Foundation
import NIOCore
import Service
import Testing

@testable import ServiceTesting

/// Requests that break a rule of HTTP leave a trace, and what can be answered is answered.
@Suite(.timeLimit(.minutes(2)))
struct MalformedRequestTests {
    /// What iOS prints of a device token's data, which clients have put into the path as it is.
    @Test(arguments: [
        ("<c63963fd fdafa1b9 5a5a5a5a>", "the description of its data"),
        ("{length = 32, bytes = 0xc63963fd fdafa1b9 ... 5a5a5a5a }", "the description of its data"),
        ("5a5a ", "Character 5 of the device token is a blank"),
        ("5a\t5a", "Character 3 of the device token"),
    ])
    func `A device token with blanks is answered, and counts as a rejection`(text: String, detail: String) async throws
    {
        try await TestService.run {
            $0.journal = 10
        } _: { test in
            let token = try await test.makeDeviceToken()
            let headers = ProviderHeaders(token, token: try test.providerToken()).with(":path", "/3/device/" + text)
            let client = try await HandmadeClient(test)
            let body = try await client.body(headers.fields)
            #expect(body.contains(#""reason":"BadDeviceToken""#) && body.contains(detail), "\(body)")
            try await test.metricCounts("carillon_rejections_total{reason=\"BadDeviceToken\"}")
            let requests = String(decoding: try await test.manage("GET", "/v1/requests").body, as: UTF8.self)
            #expect(requests.contains("BadDeviceToken"))
            #expect(try await test.metric(Self.name("development provider")) == 0)
            await client.close()
        }
    }

    private static func name(_ listener: String) -> String {
        "carillon_malformed_requests_total{listener=\"\(listener)\"}"
    }

    enum Port: String, CaseIterable, Sendable {
        case provider, binary, courier

        /// The binary port is that of the channels too, for clients that offer HTTP/2.
        var address: KeyPath<ServiceDescription.Addresses, String> {
            switch self {
            case .provider: \.provider
            case .binary: \.channels
            case .courier: \.courier
            }
        }
    }

    @Test(arguments: Port.allCases)
    func `A malformed request is counted by its listener`(port: Port) async throws {
        let listener = "development \(port)"
        try await TestService.run { test in
            #expect(try await test.metric(Self.name(listener)) == 0)
            let client = try await HandmadeClient(test, at: port.address)
            let answer = try await client.body([
                (":method", "POST"), (":scheme", "https"), (":path", "/"), ("Upper", "x"),
            ])
            #expect(answer == "")
            try await test.metricCounts(Self.name(listener))
            // The connection goes on.
            try await client.ping()
            await client.close()
        }
    }

    @Test func `A request over HTTP 1 that is refused because of its form is counted`() async throws {
        try await TestService.run { test in
            #expect(try await test.metric(Self.name("management")) == 0)
            let statuses = try await RawHTTP.statuses(
                "GET /health HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
                at: .init(unixDomainSocketPath: test.description.socket))
            #expect(statuses == [400])
            try await test.metricCounts(Self.name("management"))
        }
    }

    @Test func `A stream beyond the announced number is counted`() async throws {
        try await TestService.run { test in
            let client = try await HandmadeClient(test)
            // The client acknowledges SETTINGS while it waits.
            try await client.ping()
            try await client.burst(2, ProviderHeaders("00", token: nil).fields)
            try await test.metricsSay("concurrent-streams")
            await client.close()
        }
    }
}
