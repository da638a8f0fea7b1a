import Foundation
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
}
