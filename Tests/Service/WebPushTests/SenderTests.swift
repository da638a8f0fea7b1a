import Foundation
import Notifications
import Service
import Synchronization
import Testing

@testable import ServiceTesting

/// Who may send to a subscription.
@Suite(.timeLimit(.minutes(2)))
struct SenderTests {
    @Test func `A subscription without a key takes messages with a valid token, and without one`() async throws {
        try await PushedService.run { service in
            let server = VAPIDFixture()
            #expect(
                try await service.send(fields: PushedService.fields + [service.authorization(server)]).status == 201)
            #expect(try await service.send().status == 201)
            #expect(
                try await service.send(fields: PushedService.fields + [("Authorization", "Bearer x")]).status == 201)
            let draft = try service.authorization(server).1
            let token = draft.dropFirst("vapid t=".count).prefix { $0 != "," }
            let answer = try await service.send(
                fields: PushedService.fields + [
                    ("Authorization", "WebPush \(token)"), ("Crypto-Key", "p256ecdsa=\(server.key)"),
                ])
            #expect(answer.status == 201, "\(answer.body)")
        }
    }

    @Test func `An invalid token is 403, whatever the subscription`() async throws {
        try await PushedService.run { service in
            let server = VAPIDFixture()
            let now = Int(Date().timeIntervalSince1970)
            for changes: [String: String?] in [
                ["aud": "\"\(service.origin)/\""], ["aud": "\"https://example.com\""], ["exp": "\(now - 1)"],
                ["exp": "\(now + 25 * 3600)"], ["exp": nil], ["nbf": "\(now + 3600)"], ["sub": "\"me\""],
            ] {
                let field = try service.authorization(server, changes)
                let answer = try await service.send(fields: PushedService.fields + [field])
                #expect(answer.status == 403, "\(changes) \(answer.body)")
            }
            for value in ["vapid", "vapid t=a.b.c, k=\(server.key)", "WebPush a.b.c"] {
                #expect(try await service.send(fields: PushedService.fields + [("Authorization", value)]).status == 403)
            }
            // A valid token with another key beside it.
            let valid = try service.authorization(server).1
            let other = valid.replacing(server.key, with: VAPIDFixture().key)
            #expect(try await service.send(fields: PushedService.fields + [("Authorization", other)]).status == 403)
            #expect(try await service.waiting().isEmpty)
        }
    }

    @Test func `A subscription with a key takes messages of this key alone`() async throws {
        try await PushedService.run { service in
            let (server, stranger) = (VAPIDFixture(), VAPIDFixture())
            let (subscription, endpoint) = try await PushedService.subscribe(
                service.store, service.test.bundleID, vapid: server.keyBytes)
            let url = endpoint.url(at: service.origin)
            let without = try await service.send(at: url)
            #expect(without.status == 401 && without["www-authenticate"] == "vapid")
            #expect(
                try await service.send(at: url, fields: PushedService.fields + [service.authorization(stranger)]).status
                    == 403)
            #expect(
                try await service.send(at: url, fields: PushedService.fields + [service.authorization(server)]).status
                    == 201)
            #expect(try await service.waiting(subscription).count == 1)
        }
    }

    @Test func `A plain subscription takes a body without an encoding`() async throws {
        try await PushedService.run { service in
            let (_, endpoint) = try await PushedService.subscribe(
                service.store, service.test.bundleID, isPlain: true)
            let url = endpoint.url(at: service.origin)
            #expect(try await service.send(at: url, fields: [("TTL", "60")]).status == 201)
            #expect(
                try await service.send(at: url, fields: [("TTL", "60"), ("Content-Encoding", "gzip")]).status == 415)
        }
    }
}
