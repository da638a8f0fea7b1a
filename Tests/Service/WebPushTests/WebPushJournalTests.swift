import AsyncHTTPClient
import CommonTesting
import Foundation
import NIOCore
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// What the journal and the log have of messages.
@Suite(.timeLimit(.minutes(2)))
struct WebPushJournalTests {
    @Test func `The journal has each message, with neither its endpoint nor its token's signature`() async throws {
        try await PushedService.run { service in
            let server = VAPIDFixture()
            let field = try service.authorization(server)
            let fields = [("TTL", "60"), ("Topic", "t"), ("Content-Encoding", "aes128gcm"), field]
            #expect(try await service.send(fields: fields, body: [1, 2, 3]).status == 201)
            #expect(try await service.send(fields: [("Urgency", "high")], body: []).status == 400)
            let answer = try await service.test.manage("GET", "/v1/requests")
            let text = String(decoding: answer.body, as: UTF8.self)
            #expect(text.contains(#""protocol":"webpush""#) && text.contains(#""subscription":"an account""#))
            #expect(text.contains(#""bytes":3"#) && text.contains(#""status":201"#) && text.contains(#""status":400"#))
            #expect(text.contains(#""outcome":"stored""#) && text.contains(#""outcome":"rejected""#))
            #expect(!text.contains(service.endpoint.text))
            let signature = field.1.split(separator: ".")[2].prefix { $0 != "," }
            #expect(!text.contains(signature), "\(text)")
        }
    }
    /// Connections that fail are in the journal, as those of providers are.
    private static func failed(_ service: PushedService) async throws -> String {
        let answer = try await service.test.ask(
            "POST", "/v1/requests/wait", body: #"{"match":{"outcome":"failed"},"timeout":"PT60S"}"#)
        #expect(answer.status == 200, "\(answer.text)")
        return answer.text
    }

    @Test func `The journal says which client does not trust the service`() async throws {
        try await PushedService.run { service in
            let port = try required(Int(service.origin.split(separator: ":").last ?? ""))
            let other = try await service.test.ask("GET", "/other-ca.pem", key: "").text
            await #expect(throws: (any Error).self) {
                try await TLSProbe.shakeHands(port: port, trusting: [other], serverName: "localhost")
            }
            let text = try await Self.failed(service)
            #expect(text.contains(#""alert":"unknown_ca""#) && text.contains(#""protocol":"webpush""#), "\(text)")
        }
    }

    @Test func `The journal says which client speaks HTTP without TLS`() async throws {
        try await PushedService.run { service in
            let url = "http" + service.origin.dropFirst("https".count) + "/wp/x"
            await #expect(throws: (any Error).self) {
                try await service.client.execute(HTTPClientRequest(url: url), timeout: .seconds(60))
            }
            let text = try await Self.failed(service)
            #expect(text.contains("the client speaks HTTP without TLS"), "\(text)")
        }
    }
}
