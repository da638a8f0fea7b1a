import CommonTesting
import Delivery
import NIOCore
import Notifications
import Synchronization
import Testing

@testable import Peers

/// What one node may do to another. A node has the store's secrets, so these limits are against defects, and against a node
/// of another release.
@Suite("Limits of connections between nodes", .timeLimit(.minutes(1)))
struct PeerLimitTests {
    private func offer(_ id: OfferID?, payloadBytes: Int = 10) -> Offer {
        let json = #"{"a":""# + String(repeating: "x", count: payloadBytes) + #""}"#
        return Offer(
            id: id,
            destination: Destination(
                environment: .development, device: DeviceID(rawValue: 7), app: AppID(rawValue: 3)),
            notification: Notification(
                id: NotificationID(high: 1, low: 2), topic: "com.example.app",
                payload: Payload(stored: Array(json.utf8), contents: [])))
    }

    private func withTwo(_ limits: PeerLimits, _ body: (TestNode, TestNode) async throws -> Void) async throws {
        let authority = try TestNode.makeAuthority()
        let (one, two) = (try await TestNode(1, authority, limits), try await TestNode(2, authority, limits))
        for node in [one, two] { node.peers.update([one.clusterNode, two.clusterNode]) }
        try await wait(while: one.peers.connected == 0 || two.peers.connected == 0)
        try await body(one, two)
        for node in [one, two] { await node.close() }
    }

    @Test
    func `A node that names an offer as another node would is cut off, and its offer is not taken`() async throws {
        try await withTwo(TestNode.limits) { one, two in
            let id = OfferID(origin: two.peers.origin, number: 1)
            #expect(one.peers.offer(offer(id), epoch: 1, to: two.id))
            #expect(try await one.receiver.events(1) == ["1 returned"])
            // They connect again. The offer has not arrived.
            let own = OfferID(origin: one.peers.origin, number: 2)
            try await wait(while: !one.peers.offer(offer(own), epoch: 1, to: two.id))
            #expect(try await two.receiver.events(1) == ["offer 2 1"])
        }
    }

    @Test
    func `A record that is larger than the limit ends the connection`() async throws {
        var limits = TestNode.limits
        limits.recordBytes = 1000
        try await withTwo(limits) { one, two in
            for (number, bytes) in [10, 1000].enumerated() {
                let id = OfferID(origin: one.peers.origin, number: UInt64(number))
                #expect(one.peers.offer(offer(id, payloadBytes: bytes), epoch: 1, to: two.id))
            }
            let outcomes = try await one.receiver.events(2)
            #expect(Set(outcomes) == ["0 returned", "1 returned"])
            #expect(try await two.receiver.events(1) == ["offer 0 1"])
        }
    }

    @Test
    func `For a node that does not read, a limited number of bytes waits`() async throws {
        var limits = TestNode.limits
        limits.queuedBytes = 100_000
        limits.silence = .hours(1)
        let authority = try TestNode.makeAuthority()
        let (one, two) = (try await TestNode(1, authority, limits), try await TestNode(2, authority, limits))
        let proxy = try await StoppingProxy(to: two.port)
        one.peers.update([ClusterNode(id: two.id, name: "two", peer: "127.0.0.1:\(proxy.port)", state: .active)])
        try await wait(while: one.peers.connected == 0)
        proxy.stop()
        var count = 0
        while one.peers.offer(offer(nil, payloadBytes: 4000), epoch: 1, to: two.id) {
            count += 1
            // The stream's window, what HTTP/2 holds, and the queue.
            try #require(count < 10_000)
            await Task.yield()
        }
        #expect(count >= 20)
        for node in [one, two] { await node.close() }
        try await proxy.close()
    }

    @Test
    func `An offer whose notification is stored does not count among those without an outcome`() async throws {
        var limits = TestNode.limits
        limits.openOffers = 3
        try await withTwo(limits) { one, two in
            func send(_ number: UInt64) -> Bool {
                one.peers.offer(offer(OfferID(origin: one.peers.origin, number: number)), epoch: 1, to: two.id)
            }
            try await wait(while: !send(1))
            #expect(send(2) && send(3) && !send(4))
            let first = offer(OfferID(origin: one.peers.origin, number: 1))
            let entry = StoredMailboxEntry(
                entry: MailboxEntry(
                    destination: first.destination, notification: first.notification,
                    expires: Timestamp(milliseconds: .max)),
                version: MailboxVersion(rawValue: 1))
            one.peers.stored(entry, offer: first.id, epoch: 1, to: two.id)
            #expect(send(4) && !send(5))
        }
    }

    @Test
    func `A node answers a limited number of log questions at once, with a limited number of lines`() async throws {
        var limits = TestNode.limits
        limits.openQuestions = 2
        try await withTwo(limits) { one, two in
            let asked = Mutex(0)
            let isReleased = Mutex(false)
            let lines = [String](repeating: "{}", count: 4096)
            two.peers.answerLogQuestions { _ in
                asked.withLock { $0 += 1 }
                try? await wait(while: !isReleased.withLock({ $0 }))
                return lines
            }
            let id = NotificationID(high: 1, low: 2)
            async let first = one.peers.log(of: id, at: [two.id], within: .seconds(60))
            async let second = one.peers.log(of: id, at: [two.id], within: .seconds(60))
            try await wait(while: asked.withLock({ $0 }) < 2)
            // A third question is not answered.
            #expect(await one.peers.log(of: id, at: [two.id], within: .milliseconds(100)) == [:])
            #expect(asked.withLock { $0 } == 2)
            isReleased.withLock { $0 = true }
            for answers in [await first, await second] { #expect(answers[two.id]?.count == 4096) }
        }
    }

    /// The management API names the node as one that has not answered.
    @Test
    func `An answer that was cut short does not count`() async throws {
        let id = NotificationID(high: 1, low: 2)
        try await withTwo(TestNode.limits) { one, two in
            two.peers.answerLogQuestions { _ in [String](repeating: "{}", count: 5000) }
            #expect(await one.peers.log(of: id, at: [two.id], within: .seconds(60)) == [:])
        }
        var limits = TestNode.limits
        limits.queuedBytes = 1000
        let lines = [String](repeating: String(repeating: "x", count: 900), count: 1000)
        try await withTwo(limits) { one, two in
            two.peers.answerLogQuestions { _ in lines }
            // The connection may be fast enough for all of them.
            let answer = await one.peers.log(of: id, at: [two.id], within: .seconds(1))[two.id]
            #expect(answer == nil || answer == lines)
        }
    }

    @Test
    func `A node answers a limited number of questions about devices at once`() async throws {
        var limits = TestNode.limits
        limits.openDeviceQuestions = 2
        try await withTwo(limits) { one, two in
            let asked = Mutex(0)
            let isReleased = Mutex(false)
            let device = DeviceKey(environment: .development, device: DeviceID(rawValue: 1))
            two.peers.answerDeviceQuestions { devices in
                asked.withLock { $0 += 1 }
                try? await wait(while: !isReleased.withLock({ $0 }))
                return devices.map { TestNode.connected($0) }
            }
            async let first = one.peers.connected(among: [device], at: [two.id], within: .seconds(60))
            async let second = one.peers.connected(among: [device], at: [two.id], within: .seconds(60))
            try await wait(while: asked.withLock({ $0 }) < 2)
            // A third question is not answered.
            #expect(await one.peers.connected(among: [device], at: [two.id], within: .milliseconds(100)) == [:])
            #expect(asked.withLock { $0 } == 2)
            isReleased.withLock { $0 = true }
            for answers in [await first, await second] { #expect(answers == [two.id: [TestNode.connected(device)]]) }
        }
    }

    @Test
    func `More devices than the limit are not asked for, and not answered`() async throws {
        let authority = try TestNode.makeAuthority()
        var few = TestNode.limits
        few.askedDevices = 2
        let (one, two) = (try await TestNode(1, authority, few), try await TestNode(2, authority, TestNode.limits))
        for node in [one, two] { node.peers.update([one.clusterNode, two.clusterNode]) }
        try await wait(while: one.peers.connected == 0 || two.peers.connected == 0)
        let asked = Mutex(0)
        for node in [one, two] {
            node.peers.answerDeviceQuestions { devices in
                asked.withLock { $0 += 1 }
                return devices.map { TestNode.connected($0) }
            }
        }
        let devices = (0..<3 as Range<UInt64>).map { number in
            DeviceKey(environment: .development, device: DeviceID(rawValue: number))
        }
        #expect(await one.peers.connected(among: devices, at: [two.id], within: .seconds(60)) == [:])
        #expect(await two.peers.connected(among: devices, at: [one.id], within: .milliseconds(100)) == [:])
        #expect(asked.withLock { $0 } == 0)
        let answers = await two.peers.connected(among: Array(devices.prefix(2)), at: [one.id], within: .seconds(60))
        #expect(answers[one.id]?.map(\.key) == Array(devices.prefix(2)))
        for node in [one, two] { await node.close() }
    }

    @Test
    func `An answer that does not fit into the queue is none`() async throws {
        var limits = TestNode.limits
        limits.queuedBytes = 1000
        try await withTwo(limits) { one, two in
            let device = DeviceKey(environment: .development, device: DeviceID(rawValue: 1))
            let many = (0..<100_000 as Range<UInt64>).map { number in
                TestNode.connected(DeviceKey(environment: .production, device: DeviceID(rawValue: number)))
            }
            let isWhole = Mutex(false)
            two.peers.answerDeviceQuestions { _ in isWhole.withLock { $0 } ? [TestNode.connected(device)] : many }
            #expect(await one.peers.connected(among: [device], at: [two.id], within: .milliseconds(100)) == [:])
            isWhole.withLock { $0 = true }
            let whole = await one.peers.connected(among: [device], at: [two.id], within: .seconds(60))
            #expect(whole == [two.id: [TestNode.connected(device)]])
        }
    }
}
