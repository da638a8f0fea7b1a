import APNSDevice
import Foundation
import Synchronization
import Testing

@testable import ServiceTesting

/// Broadcast channels with the device library, against a whole service.
@Suite(.timeLimit(.minutes(2)))
struct DeviceLibraryChannelTests {
    @Test func `A device of the library subscribes, receives and acknowledges broadcasts`() async throws {
        try await TestService.run { test in
            let channel = try await test.makeChannel(keepsNewest: true)
            let identity = try await APNSDevice.DeviceIdentity.activate(
                at: test.courier, environment: test.environment)
            let app = Receiver()
            let device = try Device(identity, at: test.courier, delegate: app)
            _ = try await device.register(test.bundleID)
            try await device.subscribe(test.bundleID, to: channel)
            await #expect(throws: DeviceError.self) {
                try await device.subscribe(test.bundleID, to: ChannelHeaders.unknown)
            }
            let running = Task { try await device.run() }
            let provider = try await test.connectProvider()
            let headers = ChannelHeaders(broadcastTo: channel, token: try test.providerToken())
            #expect(try await provider.send(headers.fields, body: headers.body).status == 200)
            let notification = try await app.next()
            #expect(notification.channel == channel)
            #expect(String(decoding: notification.payload, as: UTF8.self) == headers.body)
            try await device.unsubscribe(test.bundleID, from: channel)
            try await test.waitForSubscribers(0, of: channel)
            await device.close()
            try await running.value
            await provider.close()
        }
    }
}

/// Passes on what arrives.
private final class Receiver: DeviceDelegate {
    private let arrived: AsyncStream<ReceivedNotification>
    private let arrive: AsyncStream<ReceivedNotification>.Continuation

    init() { (arrived, arrive) = AsyncStream.makeStream() }

    func next() async throws -> ReceivedNotification {
        for await notification in arrived { return notification }
        throw CancellationError()
    }

    func received(_ notification: ReceivedNotification) async { arrive.yield(notification) }
}
