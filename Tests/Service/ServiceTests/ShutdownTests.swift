import Delivery
import Foundation
import HTTP2
import NIOCore
import Service
import Synchronization
import Testing

@testable import ServiceTesting

/// The answers that providers get during a shutdown.
@Suite(.timeLimit(.minutes(2)))
struct ShutdownTests {
    @Test func `At a shutdown a request that does not end in time gets 503 Shutdown`() async throws {
        try await TestService.run {
            $0.shutdownTimeout = .milliseconds(300)
        } _: { test in
            let client = try await test.connectProvider()
            let headers = ProviderHeaders("00", token: try test.providerToken()).fields
            #expect(await client.isServed(headers))
            try await client.announced(1000)
            let began = try await client.begin(headers)
            test.stop()
            let answer = try await began.answer()
            #expect(answer.status == 503 && answer.reason == "Shutdown")
            let goAways = try await client.goAways()
            #expect(goAways.first == #"{"reason":"Shutdown"}"#)
        }
    }

    @Test func `A channel that the store is still creating is not answered, so that nobody creates it again`()
        async throws
    {
        let held = Mutex<HeldChannels?>(nil)
        let wrap = { @Sendable (store: any Store) -> any Store in
            let channels = HeldChannels(store.broadcastChannels)
            held.withLock { $0 = channels }
            return FailingStore(store, channels: channels)
        }
        try await TestService.runWrapping(wrap) {
            $0.shutdownTimeout = .milliseconds(100)
        } _: { test in
            let channels = try required(held.withLock { $0 })
            let client = try await test.connectChannels()
            let headers = ChannelHeaders("POST", token: try test.providerToken())
            async let sending = client.send(headers.fields, body: headers.body)
            await channels.arrival()
            test.stop()
            let answer = try? await sending
            #expect(answer?.status ?? 0 == 0, "\(answer?.body ?? "")")
            channels.release()
        }
    }

    @Test func `A request that is complete in time gets its usual answer, and then the connection ends`() async throws {
        try await TestService.run {
            $0.shutdownTimeout = .seconds(60)
        } _: { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(token, token: try test.providerToken()).fields
            #expect(await client.isServed(headers))
            try await client.announced(1000)
            let began = try await client.begin(headers)
            test.stop()
            // Streams that are opened now are refused, so that the client can send the requests elsewhere.
            while try await client.send(headers).error != .refusedStream {}
            let answer = try await began.finish()
            #expect(answer.status == 200)
            let goAways = try await client.goAways()
            #expect(goAways == [#"{"reason":"Shutdown"}"#])
        }
    }
}
