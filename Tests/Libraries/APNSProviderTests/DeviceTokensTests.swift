import Foundation
import ProviderTesting
import Testing

@testable import APNSProvider

/// A 410's timestamp is compared with the registration's (Guide, Table 8-5).
@Suite(.timeLimit(.minutes(1))) struct DeviceTokensTests {
    private static let time = Date(timeIntervalSince1970: 1_700_000_000)

    @Test func `Registered before is removed`() {
        let before = Self.time - 1
        #expect(
            InactiveDeviceToken(inactiveSince: Self.time, registeredAt: before) == .remove(registeredAt: before))
        #expect(
            InactiveDeviceToken(inactiveSince: Self.time, registeredAt: Self.time) == .remove(registeredAt: Self.time))
    }

    @Test func `Registered later is kept`() {
        #expect(InactiveDeviceToken(inactiveSince: Self.time, registeredAt: Self.time + 0.001) == .keep)
        let sameMillisecond = Self.time + 0.0004
        #expect(
            InactiveDeviceToken(inactiveSince: Self.time, registeredAt: sameMillisecond)
                == .remove(registeredAt: sameMillisecond))
    }

    @Test func `Without a timestamp it is removed`() {
        #expect(InactiveDeviceToken(inactiveSince: nil, registeredAt: Self.time) == .remove(registeredAt: Self.time))
    }

    @Test func `Unknown is kept`() {
        #expect(InactiveDeviceToken(inactiveSince: Self.time, registeredAt: nil) == .keep)
    }

    @Test func `A token registered meanwhile stays`() async throws {
        let store = InMemoryDeviceTokens()
        let token = try Sample.deviceToken()
        await store.register(token, topic: Sample.topic, at: Self.time + 5)
        await store.remove(token, topic: Sample.topic, registeredAt: Self.time)
        let left = await store.deviceTokens(for: Sample.topic)
        #expect(left == [token])
    }

    @Test(arguments: [true, false]) func `A 410 takes it out`(isRegisteredLater: Bool) async throws {
        let milliseconds = UInt64(Self.time.timeIntervalSince1970) * 1000
        try await ScriptedServer.run(script: {
            $1.answer($0.stream, status: 410, reason: "Unregistered", timestamp: milliseconds)
        }) { server in
            let store = InMemoryDeviceTokens()
            let (one, two) = (try Sample.deviceToken(1), try Sample.deviceToken(2))
            for token in [one, two] {
                await store.register(token, topic: Sample.topic, at: Self.time + (isRegisteredLater ? 60 : -60))
            }
            try await server.withClient({ $0.deviceTokens = store }) { client in
                let notification = try Sample.notification()
                let error = await failure { () throws(ProviderError) in try await client.send(notification, to: one) }
                #expect(error?.rejection?.timestamp == Self.time)
                for await _ in client.send([Push(notification, to: two)]) {}
                let left = await store.deviceTokens(for: Sample.topic)
                #expect(left.count == (isRegisteredLater ? 2 : 0))
            }
        }
    }

    @Test func `A bad device token stays in the record`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream, status: 400, reason: "BadDeviceToken") }) {
            server in
            let store = InMemoryDeviceTokens()
            let token = try Sample.deviceToken()
            await store.register(token, topic: Sample.topic)
            try await server.withClient({ $0.deviceTokens = store }) { client in
                let notification = try Sample.notification()
                _ = await failure { () throws(ProviderError) in try await client.send(notification, to: token) }
                let left = await store.deviceTokens(for: Sample.topic)
                #expect(left == [token])
            }
        }
    }
}
