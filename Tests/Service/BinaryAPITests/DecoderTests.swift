import CommonTesting
import Notifications
import Testing

@testable import BinaryAPI

@Suite("Reading the commands of the binary API")
struct DecoderTests {
    /// The results of decoding bytes that arrive in fragments.
    struct Decoded: Equatable {
        var notifications: [BinaryNotification] = []
        var fault: BinaryFault?
    }

    static func decode(_ pieces: [[UInt8]]) -> Decoded {
        var decoder = BinaryDecoder()
        var decoded = Decoded()
        for piece in pieces {
            var position = 0
            do {
                while let notification = try decoder.next(piece.span, &position) {
                    decoded.notifications.append(notification)
                }
            } catch {
                decoded.fault = error
                return decoded
            }
        }
        return decoded
    }

    static func decode(_ bytes: [UInt8]) -> Decoded { decode([bytes]) }

    private static func notification(
        _ command: BinaryCommand,
        _ identifier: UInt32?,
        _ expiration: Expiration,
        _ priority: Priority? = nil,
    ) throws -> BinaryNotification {
        BinaryNotification(
            command: command,
            identifier: identifier,
            expiration: expiration,
            priority: priority,
            deviceToken: try #require(DeviceToken(Packet.token)),
            payload: try Payload(Packet.payload),
        )
    }

    @Test
    func `A frame has the values of its items`() throws {
        let decoded = Self.decode(Packet.items(0x0102_0304, expiration: 1_700_000_000, priority: 5))
        let expected = try Self.notification(.items, 0x0102_0304, .at(1_700_000_000), .considerate)
        #expect(decoded == Decoded(notifications: [expected]))
    }

    @Test
    func `A frame needs only a device token and a payload`() throws {
        let expected = try Self.notification(.items, nil, .unspecified)
        #expect(Self.decode(Packet.items(nil)) == Decoded(notifications: [expected]))
    }

    @Test
    func `Items may come in any order`() throws {
        let items = [
            Packet.item(5, [10]), Packet.item(4, Packet.int32(0)), Packet.item(3, Packet.int32(7)),
            Packet.item(2, Packet.payload), Packet.item(1, Packet.token),
        ]
        let expected = try Self.notification(.items, 7, .immediately, .immediate)
        #expect(Self.decode(Packet.frame(items)) == Decoded(notifications: [expected]))
    }

    @Test
    func `Items with unknown numbers are ignored`() throws {
        let items = [
            Packet.item(99, [1, 2, 3]), Packet.item(1, Packet.token), Packet.item(0, []),
            Packet.item(2, Packet.payload), Packet.item(255, [UInt8](repeating: 0, count: 60_000)),
        ]
        let expected = try Self.notification(.items, nil, .unspecified)
        #expect(Self.decode(Packet.frame(items)) == Decoded(notifications: [expected]))
    }

    @Test
    func `The enhanced format has an identifier and an expiration`() throws {
        let expected = try Self.notification(.enhanced, 9, .at(1_700_000_000))
        let decoded = Self.decode(Packet.enhanced(9, expiration: 1_700_000_000))
        #expect(decoded == Decoded(notifications: [expected]))
    }

    @Test
    func `The legacy format has no identifier and no expiration`() throws {
        #expect(
            Self.decode(Packet.legacy()) == Decoded(notifications: [try Self.notification(.legacy, nil, .unspecified)]))
    }

    @Test
    func `All formats may follow one another in one read`() {
        let decoded = Self.decode(Packet.legacy() + Packet.items(1) + Packet.enhanced(2) + Packet.items(3))
        #expect(decoded.notifications.map(\.command) == [.legacy, .items, .enhanced, .items])
        #expect(decoded.notifications.map(\.identifier) == [nil, 1, 2, 3])
    }

    // MARK: Faults

    struct Faulty: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var bytes: [UInt8]
        var fault: BinaryFault

        init(
            _ name: String,
            _ bytes: [UInt8],
            _ status: BinaryStatus,
            _ identifier: UInt32?,
            _ command: BinaryCommand?,
        ) {
            testDescription = name
            self.bytes = bytes
            fault = BinaryFault(status: status, identifier: identifier, command: command)
        }
    }

    private static let brokenPayload = Array(#"{"aps":"#.utf8)

    static let faulty: [Faulty] = [
        Faulty("an unknown command", [3, 0, 0, 0, 0], .protocolError, nil, nil),
        Faulty("text", Array("GET / HTTP/1.1\r\n".utf8), .protocolError, nil, nil),
        Faulty("a frame of 4 GB", [2, 255, 255, 255, 255, 1], .protocolError, nil, .items),
        Faulty("an empty frame", [2, 0, 0, 0, 0], .missingDeviceToken, nil, .items),
        Faulty(
            "an item past the frame", Packet.frame([[3, 0, 4, 0, 0, 0, 5], [1, 0, 33]]), .protocolError, 5, .items),
        Faulty("half an item's header", Packet.frame([[3, 0, 4, 0, 0, 0, 5], [1, 0]]), .protocolError, 5, .items),
        Faulty("no device token", Packet.items(6, token: nil), .missingDeviceToken, 6, .items),
        Faulty("an empty device token", Packet.items(6, token: []), .missingDeviceToken, 6, .items),
        Faulty("a short device token", Packet.items(6, token: [1, 2]), .invalidTokenSize, 6, .items),
        Faulty("a long device token", Packet.items(6, token: Packet.token + [0]), .invalidTokenSize, 6, .items),
        Faulty("no payload", Packet.items(6, payload: nil), .missingPayload, 6, .items),
        Faulty("an empty payload", Packet.items(6, payload: []), .missingPayload, 6, .items),
        Faulty(
            "a payload of 2,049 bytes", Packet.items(6, payload: Packet.payload(bytes: 2049)), .invalidPayloadSize, 6,
            .items),
        Faulty(
            "the longest payload", Packet.items(6, payload: Packet.payload(bytes: 65_535)), .invalidPayloadSize, 6,
            .items),
        Faulty("a payload that is no JSON", Packet.items(6, payload: brokenPayload), .protocolError, 6, .items),
        Faulty(
            "a payload with a zero at its end", Packet.items(6, payload: Packet.payload + [0]), .protocolError, 6,
            .items),
        Faulty(
            "two device tokens",
            Packet.frame([
                Packet.item(1, Packet.token), Packet.item(1, Packet.token), Packet.item(2, Packet.payload),
                Packet.item(3, Packet.int32(8)),
            ]), .protocolError, 8, .items),
        Faulty(
            "two payloads",
            Packet.frame([Packet.item(1, Packet.token), Packet.item(2, Packet.payload), Packet.item(2, Packet.payload)]
            ), .protocolError, nil, .items),
        Faulty(
            "an identifier of three bytes",
            Packet.frame([Packet.item(1, Packet.token), Packet.item(2, Packet.payload), Packet.item(3, [1, 2, 3])]),
            .protocolError, nil, .items),
        Faulty(
            "an expiration of eight bytes",
            Packet.frame([
                Packet.item(3, Packet.int32(8)), Packet.item(1, Packet.token), Packet.item(2, Packet.payload),
                Packet.item(4, [UInt8](repeating: 0, count: 8)),
            ]), .protocolError, 8, .items),
        Faulty(
            "a priority of two bytes",
            Packet.frame([
                Packet.item(3, Packet.int32(8)), Packet.item(1, Packet.token), Packet.item(2, Packet.payload),
                Packet.item(5, [0, 10]),
            ]), .protocolError, 8, .items),
        Faulty("priority 7", Packet.items(8, priority: 7), .protocolError, 8, .items),
        Faulty("enhanced, no device token", Packet.enhanced(4, token: []), .missingDeviceToken, 4, .enhanced),
        Faulty("enhanced, a short device token", Packet.enhanced(4, token: [1]), .invalidTokenSize, 4, .enhanced),
        Faulty("enhanced, no payload", Packet.enhanced(4, payload: []), .missingPayload, 4, .enhanced),
        Faulty(
            "enhanced, a payload of 257 bytes", Packet.enhanced(4, payload: Packet.payload(bytes: 257)),
            .invalidPayloadSize, 4, .enhanced),
        Faulty(
            "enhanced, a payload that is no JSON", Packet.enhanced(4, payload: brokenPayload), .protocolError, 4,
            .enhanced),
        Faulty("legacy, no device token", Packet.legacy(token: []), .missingDeviceToken, nil, .legacy),
        Faulty(
            "legacy, a long device token", Packet.legacy(token: [UInt8](repeating: 0, count: 64)), .invalidTokenSize,
            nil, .legacy),
        Faulty(
            "legacy, a payload of 257 bytes", Packet.legacy(payload: Packet.payload(bytes: 257)), .invalidPayloadSize,
            nil, .legacy),
    ]

    @Test(arguments: faulty)
    func `A fault has its status and the identifier, wherever it is`(_ faulty: Faulty) {
        #expect(Self.decode(faulty.bytes) == Decoded(fault: faulty.fault))
    }

    @Test(arguments: faulty)
    func `A fault is the same if the bytes come one by one`(_ faulty: Faulty) {
        #expect(Self.decode(faulty.bytes.map { [$0] }) == Decoded(fault: faulty.fault))
    }

    @Test(arguments: [
        Packet.items(1, payload: Packet.payload(bytes: 2048)),
        Packet.enhanced(1, payload: Packet.payload(bytes: 256)),
        Packet.legacy(payload: Packet.payload(bytes: 256)),
    ])
    func `The longest payloads are accepted`(_ bytes: [UInt8]) {
        let decoded = Self.decode(bytes)
        #expect(decoded.fault == nil && decoded.notifications.count == 1)
    }

    @Test
    func `Notifications before a fault are kept`() {
        let decoded = Self.decode(Packet.items(1) + Packet.items(2, token: nil) + Packet.items(3))
        #expect(decoded.notifications.map(\.identifier) == [1])
        #expect(decoded.fault?.identifier == 2)
    }

    @Test
    func `A frame that is too long is refused before any of it is kept`() {
        let length = UInt32(BinaryDecoder.maximumFrameBytes)
        #expect(Self.decode([2] + Packet.int32(length)) == Decoded())
        #expect(Self.decode([2] + Packet.int32(length + 1)).fault?.status == .protocolError)
    }

    // MARK: Pieces

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `However a long stream is split, the result is the same`(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let stream = Self.randomStream(400, using: &random)
        let whole = Self.decode(stream)
        #expect(whole.notifications.count == 400)
        #expect(Self.decode(Self.cut(stream, using: &random)) == whole)
    }

    static func randomStream(_ count: Int, using random: inout SeededGenerator) -> [UInt8] {
        (0..<count).flatMap { number -> [UInt8] in
            let token = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
            switch Int.random(in: 0..<3, using: &random) {
            case 0:
                return Packet.legacy(
                    token: token, payload: Packet.payload(bytes: .random(in: 20...256, using: &random)))
            case 1:
                return Packet.enhanced(
                    UInt32(number), token: token, payload: Packet.payload(bytes: .random(in: 20...256, using: &random)))
            default:
                let payload = Packet.payload(bytes: .random(in: 20...2048, using: &random))
                var items = [
                    Packet.item(1, token), Packet.item(2, payload), Packet.item(3, Packet.int32(UInt32(number))),
                    Packet.item(77, [UInt8](repeating: 1, count: .random(in: 0...50, using: &random))),
                ]
                items.shuffle(using: &random)
                return Packet.frame(items)
            }
        }
    }

    static func cut(_ stream: [UInt8], using random: inout SeededGenerator) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var rest = stream[...]
        let longest = [1, 7, 100, 5000].randomElement(using: &random) ?? 1
        while !rest.isEmpty {
            let piece = rest.prefix(.random(in: 1...longest, using: &random))
            pieces.append(Array(piece))
            rest = rest.dropFirst(piece.count)
        }
        return pieces
    }
}
