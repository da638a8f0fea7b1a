import BinaryAPI
import CommonTesting
import Connections
import Delivery
import DeliveryTesting
import NIOCore
import Notifications
import SQLiteStore
import Storage
import Testing

/// The feedback service over real TLS (Guide, 3.1.3).
@Suite("The feedback service", .timeLimit(.minutes(1)))
struct FeedbackTests {
    /// Sends to a device token and waits until that was accepted.
    private static func send(_ tokens: [[UInt8]], in rig: BinaryRig, expiration: UInt32? = nil) async throws {
        let client = try await rig.connect()
        let bytes = tokens.flatMap { Packet.items(1, expiration: expiration, token: $0) }
        try await client.write(bytes + Packet.items(.max, token: nil))
        #expect(try await client.readToEnd() == [8, 2, 255, 255, 255, 255])
    }

    private static func list(_ rig: BinaryRig) async throws -> [UInt8] {
        let client = try await rig.connect(.feedback)
        return try await client.readToEnd()
    }

    /// Adds this many device tokens to the list, in order.
    private static func fill(_ rig: BinaryRig, _ count: UInt64) async throws {
        for device in 1...count {
            let token = try await rig.register(device)
            try await rig.unregister(device)
            try await send([token], in: rig)
        }
    }

    /// Adds this many entries to the list without sending: more than the socket buffers of both sides hold.
    private static func fillStore(_ rig: BinaryRig, _ count: UInt64) async throws {
        var entries: [FeedbackEntry] = []
        for device in 1...count {
            _ = try await rig.register(device)
            let ended = try #require(try await rig.store.end(rig.destination(device), at: rig.clock.now))
            entries.append(
                FeedbackEntry(
                    destination: rig.destination(device), generation: 1,
                    token: try #require(DeviceToken(rig.token(device))), moment: ended.changed))
        }
        try await rig.store.record(entries)
    }

    /// Reads until the list is empty. The service removes what was read shortly after it sees the connection's end.
    private static func waitUntilEmpty(_ rig: BinaryRig) async throws {
        let list = FeedbackList(environment: rig.environment, app: rig.app.id)
        try await wait(while: try await !rig.store.entries(of: list, after: nil, limit: 1).isEmpty)
    }

    @Test
    func `A-5: four bytes with seconds, two with the length, and the device token`() async throws {
        try await BinaryRig.run { rig in
            let token = try await rig.register()
            try await rig.unregister()
            let ended = try #require(try await rig.store.lookUp([rig.destination()]).first ?? nil).changed
            try await Self.send([token], in: rig)
            let bytes = try await Self.list(rig)
            #expect(Array(bytes.prefix(4)) == Packet.int32(UInt32(ended.seconds)))
            #expect(Array(bytes.dropFirst(4).prefix(2)) == [0, 32])
            #expect(Array(bytes.dropFirst(6)) == token)
        }
    }

    @Test
    func `The service sends without a request, and an empty list has no bytes`() async throws {
        try await BinaryRig.run { rig in
            _ = try await rig.register()
            #expect(try await Self.list(rig) == [])
        }
    }

    @Test
    func `A removed app is not listed if nobody sent to it; a notification that expires lists no app`() async throws {
        try await BinaryRig.run { rig in
            let (removed, offline) = (try await rig.register(1), try await rig.register(2))
            try await rig.unregister(1)
            try await Self.send([offline], in: rig, expiration: 1)
            try await Self.send([offline], in: rig, expiration: 0)
            rig.clock.advance(by: .seconds(60))
            _ = try await rig.store.removeExpired(before: rig.clock.now, limit: 100)
            #expect(try await Self.list(rig) == [])
            _ = removed
        }
    }

    @Test
    func `Entries that were read are not listed again until the next attempt`() async throws {
        try await BinaryRig.run { rig in
            try await Self.fill(rig, 1)
            let first = try await Self.list(rig)
            #expect(first.count == 38)
            try await Self.waitUntilEmpty(rig)
            #expect(try await Self.list(rig) == [])
            try await Self.send([Array(first.dropFirst(6))], in: rig)
            #expect(try await Self.list(rig) == first)
        }
    }

    @Test
    func `Many attempts to one device token make one entry`() async throws {
        try await BinaryRig.run { rig in
            let token = try await rig.register()
            try await rig.unregister()
            try await Self.send(Array(repeating: token, count: 300), in: rig)
            #expect(try await Self.list(rig).count == 38)
        }
    }

    @Test
    func `A device token that was registered again is no longer listed`() async throws {
        try await BinaryRig.run { rig in
            try await Self.fill(rig, 2)
            _ = try await rig.register(1)
            let bytes = try await Self.list(rig)
            #expect(try Array(bytes.dropFirst(6)) == rig.token(2))
        }
    }

    @Test
    func `A connection that breaks in the middle removes nothing from the list`() async throws {
        try await BinaryRig.run { rig in
            try await Self.fillStore(rig, 1000)
            for limit in [0, 1, 500] {
                let broken = try await rig.connect(.feedback, limit: limit)
                if limit > 0 { _ = try await broken.read(limit) } else { try await broken.write([0]) }
                try await broken.breakOff()
            }
            #expect(try await Self.list(rig).count == 1000 * 38)
        }
    }

    @Test
    func `If a client keeps its connection open, the entries that its system has acknowledged count as read`()
        async throws
    {
        try await BinaryRig.run {
            $0.limits.lingerTimeout = .hours(1)
        } _: { rig in
            try await Self.fill(rig, 3)
            let client = try await rig.connect(.feedback, closes: false)
            #expect(try await client.read(3 * 38).count == 3 * 38)
            try await Self.waitUntilEmpty(rig)
            #expect(try await Self.list(rig) == [])
            try await client.breakOff()
        }
    }

    @Test
    func `A client that never reads removes nothing from the list, and is disconnected`() async throws {
        try await BinaryRig.run {
            $0.limits.lingerTimeout = .milliseconds(1)
        } _: { rig in
            try await Self.fillStore(rig, 1000)
            let client = try await rig.connect(.feedback, limit: 0)
            try await client.write([0])
            #expect(try await Self.list(rig).count == 1000 * 38)
            // With such a short time limit the service may end a client that has read everything. Then the list comes
            // again.
            try await wait(while: try await !Self.list(rig).isEmpty)
            try await Self.fillStore(rig, 1000)
            let other = try await rig.connect(.feedback, limit: 0)
            try await other.write([0])
            // `shutDown` waits until all connections have ended. Here the service ends them.
            await rig.shutDown(within: .minutes(10))
            let list = FeedbackList(environment: rig.environment, app: rig.app.id)
            #expect(try await rig.store.entries(of: list, after: nil, limit: 2000).count == 1000)
        }
    }

    @Test
    func `A long list is sent page by page, and completely`() async throws {
        try await BinaryRig.run {
            $0.limits.feedbackPage = 3
        } _: { rig in
            try await Self.fill(rig, 10)
            let bytes = try await Self.list(rig)
            let tokens = stride(from: 0, to: bytes.count, by: 38).map { Array(bytes[($0 + 6)..<($0 + 38)]) }
            #expect(try tokens == (1...10).map { try rig.token($0) })
            try await Self.waitUntilEmpty(rig)
        }
    }

    @Test
    func `Each app in each environment has its own list`() async throws {
        try await BinaryRig.run { rig in
            try await Self.fill(rig, 1)
            let other = try await rig.connect(.feedback, rig.tls(bundleID: "com.example.gone"))
            #expect(try await other.readToEnd() == [])
            #expect(try await Self.list(rig).count == 38)
        }
    }

    @Test
    func `If the store fails, the connection ends and no entry is lost`() async throws {
        try await BinaryRig.run {
            $0.feedback = { FailingFeedback($0) }
        } _: { rig in
            try await Self.fill(rig, 2)
            // The first page arrives, and the second does not.
            let client = try await rig.connect(.feedback)
            _ = try await client.readToEnd()
            let list = FeedbackList(environment: rig.environment, app: rig.app.id)
            #expect(try await rig.store.entries(of: list, after: nil, limit: 10).count == 2)
        }
    }

    @Test
    func `A client that reads nothing of a long list for too long is disconnected`() async throws {
        try await BinaryRig.run {
            $0.limits.feedbackTimeout = .milliseconds(1)
            $0.feedback = { _ in EndlessFeedback() }
        } _: { rig in
            let client = try await rig.connect(.feedback, limit: 0, closes: false)
            await rig.exceeded.wait(for: .feedbackTimeout)
            // `shutDown` waits until all connections have ended. Here the service ends them.
            await rig.shutDown(within: .minutes(10))
            try await client.breakOff()
        }
    }

    /// A list that is longer than any client reads.
    private struct EndlessFeedback: Feedback {
        func record(_ entries: [FeedbackEntry]) async throws(StoreError) {}

        func entries(
            of list: FeedbackList,
            after mark: FeedbackMark?,
            limit: Int,
        ) async throws(StoreError) -> [ListedFeedback] {
            guard let token = DeviceToken([UInt8](repeating: 1, count: 32)) else { return [] }
            let first = (mark?.rawValue ?? 0) + 1
            return (0..<UInt64(limit)).map {
                ListedFeedback(
                    mark: FeedbackMark(rawValue: first + $0), token: token, moment: Timestamp(milliseconds: 0))
            }
        }

        func confirm(_ list: FeedbackList, through mark: FeedbackMark) async throws(StoreError) {}
    }

    /// A list that cannot be read.
    private struct FailingFeedback: ForwardingStore {
        let inner: any Store

        init(_ store: SQLiteStore) { inner = store }

        func entries(
            of list: FeedbackList,
            after mark: FeedbackMark?,
            limit: Int,
        ) async throws(StoreError) -> [ListedFeedback] {
            throw StoreError(.unavailable, "A test wants it so.")
        }
    }
}
