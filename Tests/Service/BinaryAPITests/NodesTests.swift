import BinaryAPI
import CommonTesting
import Delivery
import DeliveryTesting
import Notifications
import Synchronization
import Testing
import Trust

/// What a node of a cluster has to do, and a single service does not.
@Suite("A binary connection to one of several nodes", .timeLimit(.minutes(1)))
struct NodesTests {
    /// The token keys of another node, which has made a second one.
    private final class OtherNode: Sendable {
        let keys: TokenKeys
        private let state = Mutex(State())

        private struct State {
            var asked = 0
            var isHeld = false
            var isReachable = true
            var waiting: CheckedContinuation<Void, Never>?
        }

        struct Unreachable: Error {}

        init() throws {
            let id = TokenKeyID(rawValue: 2)
            keys = try TokenKeys(keys: [id: TokenKeys.makeKey()], current: id)
        }

        var asked: Int { state.withLock { $0.asked } }

        func hold() { state.withLock { $0.isHeld = true } }
        func reach(_ isReachable: Bool) { state.withLock { $0.isReachable = isReachable } }

        func release() {
            let waiting = state.withLock { state in
                state.isHeld = false
                defer { state.waiting = nil }
                return state.waiting
            }
            waiting?.resume()
        }

        func find() async throws -> [TokenKeyID: [UInt8]] {
            await withCheckedContinuation { continuation in
                let passes = state.withLock { state in
                    state.asked += 1
                    if state.isHeld { state.waiting = continuation }
                    return !state.isHeld
                }
                if passes { continuation.resume() }
            }
            guard state.withLock({ $0.isReachable }) else { throw Unreachable() }
            return keys.rawKeys
        }
    }

    private static func payload(_ number: Int) -> [UInt8] { Array(#"{"aps":{"badge":\#(number)}}"#.utf8) }

    private func run(_ node: OtherNode, _ body: (BinaryRig) async throws -> Void) async throws {
        try await BinaryRig.run {
            $0.findKeys = { _ in try await node.find() }
        } _: {
            try await body($0)
        }
    }

    /// A device token of the app on a device, as the other node seals it.
    private func token(_ device: UInt64, _ node: OtherNode, _ rig: BinaryRig) throws -> [UInt8] {
        let contents = DeviceTokenContents(device: DeviceID(rawValue: device), app: rig.app.id, generation: 1)
        return try node.keys.seal(contents, environment: rig.environment).array
    }

    @Test
    func `If another node's new key sealed a device token, the key is looked up, and later notifications wait`()
        async throws
    {
        let node = try OtherNode()
        try await run(node) { rig in
            for device in 1...2 as ClosedRange<UInt64> { _ = try await rig.register(device) }
            let client = try await rig.connect()
            node.hold()
            let unknown = try token(1, node, rig)
            try await client.write(
                Packet.items(1, token: unknown, payload: Self.payload(1))
                    + Packet.items(2, token: rig.token(2), payload: Self.payload(2))
                    + Packet.items(3, token: unknown, payload: Self.payload(3)))
            try await wait(while: node.asked < 1)
            #expect(try await rig.mailbox(2) == [])
            node.release()
            // The connection ends when everything before this invalid notification was accepted.
            try await client.write(Packet.items(.max, token: nil))
            #expect(try await client.readToEnd() == [8, 2, 255, 255, 255, 255])
            #expect(try await rig.mailbox(1) == [String(decoding: Self.payload(3), as: UTF8.self)])
            #expect(try await rig.mailbox(2) == [String(decoding: Self.payload(2), as: UTF8.self)])
            #expect(node.asked == 1)
        }
    }

    @Test
    func `A device token that no node made is invalid after all keys were looked up`() async throws {
        let node = try OtherNode()
        try await run(node) { rig in
            let client = try await rig.connect()
            try await client.write(Packet.items(7, token: [UInt8](repeating: 9, count: 32), payload: Self.payload(1)))
            #expect(try await client.readToEnd() == [8, 8, 0, 0, 0, 7])
            #expect(node.asked == 1)
        }
    }

    @Test
    func `If keys cannot be looked up, a device token that no key opens is a processing error`() async throws {
        let node = try OtherNode()
        node.reach(false)
        try await run(node) { rig in
            let client = try await rig.connect()
            try await client.write(Packet.items(7, token: [UInt8](repeating: 9, count: 32), payload: Self.payload(1)))
            #expect(try await client.readToEnd() == [8, 1, 0, 0, 0, 7])
        }
    }

    @Test
    func `A connection that waits for a key ends with the service, and names the last accepted notification`()
        async throws
    {
        let node = try OtherNode()
        try await run(node) { rig in
            _ = try await rig.register(2)
            let client = try await rig.connect()
            node.hold()
            try await client.write(
                Packet.items(1, token: rig.token(2), payload: Self.payload(1))
                    + Packet.items(2, token: token(1, node, rig), payload: Self.payload(2)))
            try await wait(while: node.asked < 1)
            async let ending: Void = rig.shutDown()
            #expect(try await client.readToEnd() == [8, 10, 0, 0, 0, 1])
            node.release()
            await ending
        }
    }

    // MARK: A node that is cut off

    @Test
    func `A node whose accounts may be out of date ends its connections as at a shutdown, and accepts no new ones`()
        async throws
    {
        try await BinaryRig.run { rig in
            let token = try await rig.register()
            let client = try await rig.connect()
            try await client.write(Packet.items(1, token: token, payload: Self.payload(1)))
            try await wait(while: try await rig.mailbox() == [])
            rig.accounts.cutOff(true)
            try await client.write(Packet.items(2, token: token, payload: Self.payload(2)))
            #expect(try await client.readToEnd() == [8, 10, 0, 0, 0, 1])
            #expect(try await rig.mailbox() == [String(decoding: Self.payload(1), as: UTF8.self)])
            for service in [BinaryRig.Service.binary, .feedback] {
                let refused = try await rig.connect(service)
                #expect(try await refused.readToEnd() == [])
                #expect(try await refused.failure() != nil)
            }
            rig.accounts.cutOff(false)
            let next = try await rig.connect()
            try await next.write(Packet.items(2, token: token, payload: Self.payload(2)))
            try await next.write(Packet.items(.max, token: nil))
            #expect(try await next.readToEnd() == [8, 2, 255, 255, 255, 255])
        }
    }
}
