import BinaryAPI
import Delivery
import SQLiteStore
import NIOCore
import Notifications
import Rates
import Testing
import Trust

/// The Guide's tables A-1 to A-4, row by row and byte by byte, over real TLS.
@Suite("Tables of the binary API", .timeLimit(.minutes(1)))
struct TableTests {
    private static func payload(_ text: String) -> [UInt8] { Array(#"{"aps":{"alert":"\#(text)"}}"#.utf8) }

    /// Sends a faulty notification between two valid ones. Expects the error packet, the end of the connection, and
    /// that only the first was delivered.
    private static func expect(
        _ packet: [UInt8],
        for faulty: [UInt8],
        in rig: BinaryRig,
        sourceLocation: SourceLocation = #_sourceLocation,
    ) async throws {
        let token = try await rig.register()
        let device = rig.online()
        let client = try await rig.connect()
        let before = Packet.items(71, token: token, payload: payload("before"))
        let after = Packet.items(73, token: token, payload: payload("after"))
        try await client.write(before + faulty + after)
        #expect(try await client.readToEnd() == packet, sourceLocation: sourceLocation)
        let other = try await rig.connect()
        try await other.write(Packet.items(token: token, payload: payload("last")))
        let texts = await device.first(2).map(\.text)
        #expect(texts == [payload("before"), payload("last")].map { String(decoding: $0, as: UTF8.self) })
        await other.close()
    }

    // MARK: A-1

    @Test(arguments: [3, 8, 255] as [UInt8])
    func `A-1, command: 2 begins a notification, and an unknown one is a protocol error`(_ unknown: UInt8) async throws
    {
        try await BinaryRig.run { rig in
            try await Self.expect([8, 128, 0, 0, 0, 0], for: [unknown, 0, 0, 0, 0], in: rig)
        }
    }

    @Test
    func `A-1, frame length: big-endian, and a length of 4 GB is a protocol error`() async throws {
        try await BinaryRig.run { rig in
            try await Self.expect([8, 128, 0, 0, 0, 0], for: [2, 255, 255, 255, 255], in: rig)
        }
    }

    @Test
    func `A-1, frame data: an empty frame has no device token`() async throws {
        try await BinaryRig.run { rig in
            try await Self.expect([8, 2, 0, 0, 0, 0], for: Packet.frame([]), in: rig)
        }
    }

    @Test
    func `A-1, frame data: a frame shorter than its items is a protocol error`() async throws {
        try await BinaryRig.run { rig in
            let items = Packet.item(3, Packet.int32(9)) + Packet.item(1, Packet.token)
            let frame = [2] + Packet.int32(UInt32(items.count - 1)) + items
            try await Self.expect([8, 128, 0, 0, 0, 9], for: frame, in: rig)
        }
    }

    // MARK: A-2

    @Test
    func `A-2, item ID: any order, and unknown ones are ignored`() async throws {
        try await BinaryRig.run { rig in
            let token = try await rig.register()
            let device = rig.online()
            let client = try await rig.connect()
            try await client.write(
                Packet.frame([
                    Packet.item(9, [1, 2, 3]), Packet.item(5, [10]), Packet.item(2, Self.payload("Hello")),
                    Packet.item(200, []), Packet.item(3, Packet.int32(1)), Packet.item(1, token),
                ]))
            #expect(await device.first(1).map(\.text) == [#"{"aps":{"alert":"Hello"}}"#])
            await client.close()
        }
    }

    @Test
    func `A-2, item data length: a length beyond the frame is a protocol error`() async throws {
        try await BinaryRig.run { rig in
            let frame = Packet.frame([Packet.item(3, Packet.int32(9)), [1, 255, 255], Packet.token])
            try await Self.expect([8, 128, 0, 0, 0, 9], for: frame, in: rig)
        }
    }

    @Test
    func `A-2, item data: an item may be empty`() async throws {
        try await BinaryRig.run { rig in
            let frame = Packet.frame([Packet.item(3, Packet.int32(9)), Packet.item(1, []), Packet.item(2, [])])
            try await Self.expect([8, 2, 0, 0, 0, 9], for: frame, in: rig)
        }
    }

    // MARK: A-3

    @Test
    func `A-3, device token: exactly one`() async throws {
        try await BinaryRig.run { rig in
            let token = try await rig.register()
            let frame = Packet.frame([
                Packet.item(1, token), Packet.item(1, token), Packet.item(2, Packet.payload),
                Packet.item(3, Packet.int32(9)),
            ])
            try await Self.expect([8, 128, 0, 0, 0, 9], for: frame, in: rig)
        }
    }

    @Test
    func `A-3, payload: 2,048 bytes are accepted, one more is not`() async throws {
        try await BinaryRig.run { rig in
            let token = try await rig.register()
            let device = rig.online()
            let client = try await rig.connect()
            try await client.write(
                Packet.items(1, token: token, payload: Packet.payload(bytes: 2048))
                    + Packet.items(2, token: token, payload: Packet.payload(bytes: 2049)))
            #expect(try await client.readToEnd() == [8, 7, 0, 0, 0, 2])
            #expect(await device.first(1).map(\.payload.json.count) == [2048])
        }
    }

    @Test
    func `A-3, payload: must not be null-terminated`() async throws {
        try await BinaryRig.run { rig in
            let token = try await rig.register()
            let faulty = Packet.items(9, token: token, payload: Packet.payload + [0])
            try await Self.expect([8, 128, 0, 0, 0, 9], for: faulty, in: rig)
        }
    }

    @Test(arguments: [0, 1, 0x8000_0000, .max] as [UInt32])
    func `A-3, notification identifier: the packet has the same four bytes`(_ identifier: UInt32) async throws {
        try await BinaryRig.run { rig in
            try await Self.expect(
                [8, 2] + Packet.int32(identifier), for: Packet.items(identifier, token: nil), in: rig)
        }
    }

    @Test
    func `A-3, notification identifier: is not required`() async throws {
        try await BinaryRig.run { rig in
            try await Self.expect([8, 2, 0, 0, 0, 0], for: Packet.items(nil, token: nil), in: rig)
        }
    }

    @Test
    func `A-3, expiration date: a notification with a future date is stored until then`() async throws {
        try await BinaryRig.run { rig in
            let token = try await rig.register()
            let seconds = UInt32(rig.clock.now.seconds) + 3600
            try await Self.sendAndProbe(Packet.items(expiration: seconds, token: token), rig)
            let kept = try await rig.store.entries(of: rig.destination().deviceKey)
            #expect(kept.map(\.entry.expires) == [Timestamp(seconds: UInt64(seconds))])
        }
    }

    @Test
    func `A-3, expiration date: 0 means one attempt, and the notification is not stored`() async throws {
        try await BinaryRig.run { rig in
            let token = try await rig.register()
            try await Self.sendAndProbe(Packet.items(expiration: 0, token: token), rig)
            #expect(try await rig.mailbox() == [])
        }
    }

    /// Sends, followed by a notification that is refused. Its packet shows that everything before it was accepted.
    private static func sendAndProbe(_ bytes: [UInt8], _ rig: BinaryRig) async throws {
        let client = try await rig.connect()
        try await client.write(bytes + Packet.items(1000, token: nil))
        #expect(try await client.readToEnd() == [8, 2] + Packet.int32(1000))
    }

    @Test(
        arguments: [
            (10, .immediate), (5, .considerate), (nil, .immediate),
        ] as [(UInt8?, Priority)])
    func `A-3, priority: 10 or 5, and 10 if it is missing`(_ written: UInt8?, _ meant: Priority) async throws {
        try await BinaryRig.run { rig in
            let token = try await rig.register()
            try await Self.sendAndProbe(Packet.items(priority: written, token: token), rig)
            let kept = try await rig.store.entries(of: rig.destination().deviceKey)
            #expect(kept.map(\.entry.notification.priority) == [meant])
        }
    }

    @Test(arguments: [0, 7, 11, 255] as [UInt8])
    func `A-3, priority: any other value is a protocol error`(_ priority: UInt8) async throws {
        try await BinaryRig.run { rig in
            let token = try await rig.register()
            let faulty = Packet.items(9, priority: priority, token: token)
            try await Self.expect([8, 128, 0, 0, 0, 9], for: faulty, in: rig)
        }
    }

    // MARK: A-4

    @Test
    func `A-4, no errors encountered: no packet is sent`() async throws {
        try await BinaryRig.run { rig in
            let token = try await rig.register()
            let device = rig.online()
            let client = try await rig.connect()
            try await client.write(Packet.items(1, token: token) + Packet.enhanced(2, token: token))
            _ = await device.first(2)
            await client.close()
            #expect(try await client.readToEnd() == [])
        }
    }

    @Test
    func `A-4, processing error: priority 10 with a payload that has only content-available`() async throws {
        try await BinaryRig.run { rig in
            let token = try await rig.register()
            let silent = Array(#"{"aps":{"content-available":1}}"#.utf8)
            let faulty = Packet.items(9, priority: 10, token: token, payload: silent)
            try await Self.expect([8, 1, 0, 0, 0, 9], for: faulty, in: rig)
        }
    }

    @Test
    func `A-4, processing error: more notifications to one device token than its rate allows`() async throws {
        try await BinaryRig.run {
            $0.delivery.requestsPerDeviceToken = Rate(burst: 2, perSecond: 0.001)
        } _: { rig in
            let token = try await rig.register()
            let device = rig.online()
            let client = try await rig.connect()
            try await client.write((1...5).flatMap { Packet.items($0, token: token) })
            #expect(try await client.readToEnd() == [8, 1, 0, 0, 0, 3])
            #expect(await device.first(2).count == 2)
        }
    }

    @Test
    func `A-4, missing device token`() async throws {
        try await BinaryRig.run { rig in
            try await Self.expect([8, 2, 0, 0, 0, 9], for: Packet.enhanced(9, token: []), in: rig)
        }
    }

    @Test
    func `A-4, missing topic: no app has the topic of the certificate`() async throws {
        try await BinaryRig.run { rig in
            let client = try await rig.connect(.binary, rig.tls(bundleID: "com.example.gone"))
            try await client.write(Packet.items(9, token: try rig.token()))
            #expect(try await client.readToEnd() == [8, 3, 0, 0, 0, 9])
        }
    }

    @Test
    func `A-4, missing payload`() async throws {
        try await BinaryRig.run { rig in
            try await Self.expect([8, 4, 0, 0, 0, 9], for: Packet.items(9, payload: nil), in: rig)
        }
    }

    @Test
    func `A-4, invalid token size`() async throws {
        try await BinaryRig.run { rig in
            try await Self.expect([8, 5, 0, 0, 0, 9], for: Packet.items(9, token: [1, 2, 3]), in: rig)
        }
    }

    @Test
    func `A-4, invalid payload size`() async throws {
        try await BinaryRig.run { rig in
            let token = try await rig.register()
            let faulty = Packet.enhanced(9, token: token, payload: Packet.payload(bytes: 257))
            try await Self.expect([8, 7, 0, 0, 0, 9], for: faulty, in: rig)
        }
    }

    @Test
    func `A-4, invalid token: a device token that this service did not make`() async throws {
        try await BinaryRig.run { rig in
            try await Self.expect([8, 8, 0, 0, 0, 9], for: Packet.items(9), in: rig)
        }
    }

    @Test
    func `A-4, invalid token: one of another app, of the other environment, or without a registration`() async throws {
        try await BinaryRig.run { rig in
            let contents = try rig.tokenKeys.open(#require(DeviceToken(rig.token())), environment: rig.environment)
            let elsewhere = try rig.tokenKeys.current.seal(#require(contents), environment: .development).array
            let tokens = [try rig.token(app: AppID(rawValue: 99)), elsewhere, try rig.token(42)]
            for token in tokens {
                let client = try await rig.connect()
                try await client.write(Packet.items(9, token: token))
                #expect(try await client.readToEnd() == [8, 8, 0, 0, 0, 9])
            }
        }
    }

    @Test
    func `A-4, shutdown: names the last accepted notification`() async throws {
        try await BinaryRig.run { rig in
            let token = try await rig.register()
            let device = rig.online()
            let client = try await rig.connect()
            try await client.write((1...3).flatMap { Packet.items($0 * 11, token: token) })
            _ = await device.first(3)
            async let packet = client.readToEnd()
            await rig.shutDown()
            #expect(try await packet == [8, 10, 0, 0, 0, 33])
        }
    }

    @Test(arguments: ["x", "[]", #"{"aps":"#])
    func `A-4, protocol error: a payload that is not a JSON dictionary`(_ payload: String) async throws {
        try await BinaryRig.run { rig in
            let token = try await rig.register()
            let faulty = Packet.items(9, token: token, payload: Array(payload.utf8))
            try await Self.expect([8, 128, 0, 0, 0, 9], for: faulty, in: rig)
        }
    }
}
