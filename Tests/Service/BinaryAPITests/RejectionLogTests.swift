import Delivery
import DeliveryTesting
import Notifications
import Testing

/// The delivery log has the notifications that the gateway refuses, with the reason of the provider API.
struct RejectionLogTests {
    private static let silent = Array(#"{"aps":{"content-available":1}}"#.utf8)

    /// Sends one notification, waits for the error packet, and returns what was recorded.
    private static func rejections(
        _ change: (inout BinaryRig.Options) -> Void = { _ in },
        _ packet: (BinaryRig) async throws -> [UInt8],
    ) async throws -> [DeliveryEvent] {
        let log = RecordingLog()
        try await BinaryRig.run {
            $0.deliveryLog = log
            change(&$0)
        } _: { rig in
            let client = try await rig.connect()
            try await client.write(try await packet(rig))
            #expect(try await client.readToEnd().first == 8)
        }
        return log.events
    }

    @Test func `A device token that this service did not make is recorded with its bytes`() async throws {
        let events = try await Self.rejections { _ in Packet.items(9) }
        #expect(events.map(\.step) == [.rejected(.badDeviceToken)])
        #expect(events.map(\.subject.address) == [.deviceToken(Packet.token)])
        #expect(events.map(\.subject.topic) == [BinaryRig.bundleID])
    }

    @Test func `A notification to a device is recorded with its destination`() async throws {
        let events = try await Self.rejections { rig in
            Packet.items(9, priority: 10, token: try await rig.register(), payload: Self.silent)
        }
        #expect(events.map(\.step) == [.rejected(.badPriority)])
        guard case .destination(let destination, _)? = events.first?.subject.address else {
            Issue.record("\(events)")
            return
        }
        #expect(destination.device == DeviceID(rawValue: 1))
    }

    @Test func `Strict's refusal of a payload without aps is recorded`() async throws {
        let events = try await Self.rejections {
            $0.conformance = .strict
        } _: { rig in
            Packet.items(9, token: try await rig.register(), payload: Array("{}".utf8))
        }
        #expect(events.map(\.step) == [.rejected(.payloadEmpty)])
    }

    @Test func `A notification that cannot be read is not recorded, because nothing is known of it`() async throws {
        #expect(try await Self.rejections { _ in Packet.items(9, token: nil) } == [])
    }
}
