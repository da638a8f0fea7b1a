import Foundation
import HTTP2
import NIOCore
import Notifications
import Rates
import Service
import Testing

@testable import ProviderAPI
@testable import ServiceTesting

/// The headers and bodies of answers.
@Suite(.timeLimit(.minutes(2)))
struct AnswerTests {
    @Test func `The answer has the identifier in the request's spelling`() async throws {
        try await TestService.run { test in
            let client = try await test.connectProvider()
            let headers = try test.headers(try await test.makeDeviceToken(), id: "")
            for id in ["8B1E5B4A-9C0C-4D5E-8F00-0123456789AB", "8b1e5B4a-9c0c-4d5e-8f00-0123456789ab"] {
                let answer = try await client.send(headers.with("apns-id", id).fields)
                #expect(answer.status == 200)
                #expect(answer.headers["apns-id"] == [id])
                let refused = try await client.send(
                    headers.with("apns-id", id).with(":path", "/3/device/00").fields)
                #expect(refused.reason == "BadDeviceToken")
                #expect(refused.headers["apns-id"] == [id])
            }
            await client.close()
        }
    }

    @Test func `A time that is too late for a number with a sign is the latest that has one`() {
        let rejection = Rejection(.unregistered, timestamp: .max)
        let body = String(buffer: ProviderResponse.body(rejection, hasDetail: false))
        #expect(body == #"{"reason":"Unregistered","timestamp":9223372036854775807}"#)
    }

    @Test func `A collapse identifier that is not text is refused`() async throws {
        try await TestService.run { test in
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(try await test.makeDeviceToken(), token: try test.providerToken())
            let answer = try await client.send(headers.with("apns-collapse-id", WireClient.notText).fields)
            #expect(answer.status == 400 && answer.reason == "BadCollapseId")
            await client.close()
        }
    }

    @Test(arguments: [true, false]) func `detail can be switched off`(_ isOn: Bool) async throws {
        try await TestService.run {
            $0.answerDetail = isOn
        } _: { test in
            let client = try await test.connectProvider()
            let answer = try await client.send(ProviderHeaders("00", token: try test.providerToken()).fields)
            #expect(answer.body.contains(#""detail""#) == isOn)
            #expect(answer.reason == "BadDeviceToken")
            await client.close()
        }
    }

    @Test func `Another key of the same scope is a rotation, and a key of another scope is unrelated`() async throws {
        try await TestService.run {
            $0.provider.tokenUpdates.burst = 5
        } _: { test in
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(try await test.makeDeviceToken(), token: try test.providerToken())
            #expect(try await client.send(headers.fields).status == 200)
            func answer(_ token: String) async throws -> WireClient.Answer {
                try await client.send(headers.with("authorization", "bearer \(token)").fields)
            }
            #expect(try await answer(test.limitedToken()).status == 200)
            for token in [
                try await test.limitedToken(environment: .development),
                try await test.limitedToken(bundleIDs: [test.bundleID]),
            ] {
                let refused = try await answer(token)
                #expect(refused.status == 403 && refused.reason == "UnrelatedKeyIdInToken")
                // On a new connection the token is valid.
                let other = try await test.connectProvider()
                #expect(
                    try await other.send(headers.with("authorization", "bearer \(token)").fields).status == 200)
                await other.close()
            }
            // The connection serves on.
            #expect(try await client.send(headers.fields).status == 200)
            await client.close()
        }
    }
}
