import APNSDevice
import Delivery
import Foundation
import Notifications
import Service
import Synchronization
import Testing

@testable import ServiceTesting

/// The device library, tested with a whole service in this process.
@Suite(.timeLimit(.minutes(2))) struct DeviceLibraryTests {
    /// Passes on what arrives.
    private struct StreamingDelegate: DeviceDelegate {
        let arrived: AsyncStream<ReceivedNotification>.Continuation
        func received(_ notification: ReceivedNotification) async { arrived.yield(notification) }
    }

    private func send(_ alert: String, to token: String, of test: TestService) async throws -> Int {
        let client = try await test.connectProvider()
        let answer = try await client.send(
            ProviderHeaders(token, token: test.providerToken()).fields, body: #"{"aps":{"alert":"\#(alert)"}}"#)
        await client.close()
        return answer.status
    }

    @Test func `Each launch registers with the same device token; a notification is shown and acknowledged`()
        async throws
    {
        try await TestService.run { test in
            let identity = try await APNSDevice.DeviceIdentity.activate(at: test.courier, environment: .development)
            let (events, event) = AsyncStream.makeStream(of: DeviceSystem.Event.self)
            let system = DeviceSystem { event.yield($0) }
            let app = TokenApp()
            await system.install(test.bundleID, app)
            let device = try Device(identity, at: test.courier, delegate: system)
            await system.use(device)
            let running = Task { try await device.run() }
            await system.open(test.bundleID)
            await system.forceQuit(test.bundleID)
            await system.open(test.bundleID)
            await system.enterBackground(test.bundleID)
            let tokens = app.tokens.withLock { $0 }
            #expect(tokens.count == 2 && Set(tokens).count == 1)
            #expect(try await send("Hello", to: try required(tokens.first), of: test) == 200)
            for await event in events {
                guard case .shown(let shown) = event else { continue }
                #expect(shown.content.body == "Hello")
                break
            }
            await device.close()
            try await running.value
        }
    }

    private final class TokenApp: APNSDevice.App {
        let tokens = Mutex<[String]>([])
        func registered(deviceToken: String) async { tokens.withLock { $0.append(deviceToken) } }
    }

    @Test func `Acknowledgements that are added to an open request arrive`() async throws {
        try await TestService.run {
            // Nothing is stored meanwhile, so each answer waits for its acknowledgement.
            $0.delivery.acknowledgementGrace = .seconds(3600)
        } _: { test in
            let identity = try await APNSDevice.DeviceIdentity.activate(at: test.courier, environment: .development)
            let (_, arrived) = AsyncStream.makeStream(of: ReceivedNotification.self)
            let device = try Device(identity, at: test.courier, delegate: StreamingDelegate(arrived: arrived))
            let token = try await device.register(test.bundleID)
            let running = Task { try await device.run() }
            for number in 1...10 {
                #expect(try await send("Number \(number)", to: token, of: test) == 200)
            }
            await device.close()
            try await running.value
        }
    }

    @Test func `A notification that was stored while the device was away arrives once`() async throws {
        try await TestService.run { test in
            let identity = try await APNSDevice.DeviceIdentity.activate(at: test.courier, environment: .development)
            for round in 0..<2 {
                let (notifications, arrived) = AsyncStream.makeStream(of: ReceivedNotification.self)
                let device = try Device(
                    identity, at: test.courier, delegate: StreamingDelegate(arrived: arrived))
                let token = try await device.register(test.bundleID)
                // The device is not connected yet, so the notification is stored.
                #expect(try await send("Round \(round)", to: token, of: test) == 200)
                let running = Task { try await device.run() }
                let first = await notifications.first { _ in true }
                #expect(
                    first.map { String(decoding: $0.payload, as: UTF8.self) } == #"{"aps":{"alert":"Round \#(round)"}}"#
                )
                await device.close()
                try await running.value
            }
        }
    }

    @Test func `After a reset the app gets another device token, and the old one is no longer active`() async throws {
        try await TestService.run { test in
            let identity = try await APNSDevice.DeviceIdentity.activate(at: test.courier, environment: .development)
            let (_, arrived) = AsyncStream.makeStream(of: ReceivedNotification.self)
            let device = try Device(identity, at: test.courier, delegate: StreamingDelegate(arrived: arrived))
            let old = try await device.register(test.bundleID)
            try await device.reset()
            #expect(try await send("x", to: old, of: test) == 410)
            let new = try await device.register(test.bundleID)
            #expect(new != old)
            #expect(try await device.unregister(test.bundleID) == new)
            #expect(try await send("x", to: new, of: test) == 410)
            await device.close()
        }
    }

    @Test func `An app that the service does not have is refused with the reason`() async throws {
        try await TestService.run { test in
            let identity = try await APNSDevice.DeviceIdentity.activate(at: test.courier, environment: .development)
            let (_, arrived) = AsyncStream.makeStream(of: ReceivedNotification.self)
            let device = try Device(identity, at: test.courier, delegate: StreamingDelegate(arrived: arrived))
            let error = await #expect(throws: DeviceError.self) { try await device.register("com.example.nothing") }
            #expect(error?.reason == "BadTopic" && error?.isTemporary == false)
            await device.close()
        }
    }

    @Test func `In production a device cannot activate without a code`() async throws {
        try await TestService.run(environment: .production) { test in
            let error = await #expect(throws: DeviceError.self) {
                try await APNSDevice.DeviceIdentity.activate(at: test.courier, environment: .production)
            }
            #expect(error?.reason == "Forbidden")
        }
    }
}
