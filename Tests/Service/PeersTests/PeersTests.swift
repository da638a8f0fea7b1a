import CommonTesting
import Connections
import Credentials
import Crypto
import Delivery
import Foundation
import HTTP2
import InMemoryLogging
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Notifications
import Synchronization
import Testing
import Trust

@testable import Peers

/// Nodes that call each other over real TLS.
@Suite("Connections between nodes", .timeLimit(.minutes(1)))
struct PeersTests {
    private static let destination = Destination(
        environment: .development, device: DeviceID(rawValue: 7), app: AppID(rawValue: 3))

    private func offer(_ node: TestNode, _ number: UInt64, to destination: Destination = Self.destination) -> Offer {
        Offer(
            id: OfferID(origin: node.peers.origin, number: number), destination: destination,
            notification: Notification(
                id: NotificationID(high: 1, low: number), topic: "com.example.app",
                payload: Payload(stored: Array(#"{"aps":{"badge":1}}"#.utf8), contents: [.aps, .badge])))
    }

    private func withTwo(
        _ limits: PeerLimits = TestNode.limits,
        _ body: (TestNode, TestNode) async throws -> Void,
    ) async throws {
        let authority = try TestNode.makeAuthority()
        let (one, two) = (
            try await TestNode(1, authority, limits), try await TestNode(2, authority, limits)
        )
        for node in [one, two] { node.peers.update([one.clusterNode, two.clusterNode]) }
        try await wait(while: one.peers.connected == 0 || two.peers.connected == 0)
        try await body(one, two)
        for node in [one, two] { await node.close() }
    }

    @Test
    func `Offers go both ways over one connection, in their order, and the outcomes come back`() async throws {
        try await withTwo { one, two in
            for (here, there) in [(one, two), (two, one)] {
                for number in 1...100 as ClosedRange<UInt64> {
                    #expect(here.peers.offer(offer(here, number), epoch: 4, to: there.id))
                }
                let entry = MailboxEntry(
                    destination: Self.destination, notification: offer(here, 0).notification,
                    expires: Timestamp(milliseconds: 1))
                let stored = StoredMailboxEntry(entry: entry, version: MailboxVersion(rawValue: 5))
                here.peers.stored(stored, offer: nil, epoch: 4, to: there.id)
                let offered = try await there.receiver.events(there === two ? 101 : 201).suffix(101)
                #expect(Array(offered) == (1...100).map { "offer \($0) 4" } + ["stored 5 4"])
                for number in 1...99 as ClosedRange<UInt64> {
                    there.peers.report(
                        number.isMultiple(of: 2) ? .acknowledged : .elsewhere,
                        of: OfferID(origin: here.peers.origin, number: number))
                }
                // An outcome that comes twice, or for an offer that was not made, is ignored.
                for number in [1, 1000, 100] as [UInt64] {
                    there.peers.report(.returned, of: OfferID(origin: here.peers.origin, number: number))
                }
                let outcomes = try await here.receiver.events(here === one ? 100 : 201)
                #expect(
                    Array(outcomes.suffix(100))
                        == (1...99).map { "\($0) \($0.isMultiple(of: 2) ? "acknowledged" : "elsewhere")" } + [
                            "100 returned"
                        ])
            }
            #expect(one.peers.connected == 1 && two.peers.connected == 1)
        }
    }

    @Test
    func `A broadcast is one record for each node, whatever its size, and a node gets none from itself`() async throws {
        try await withTwo { one, two in
            var random = SeededGenerator.random()
            let channel = ChannelKey(
                list: ChannelList(environment: .development, app: AppID(rawValue: 3)), id: .random(using: &random))
            let notification = Notification(
                id: NotificationID(high: 1, low: 2), topic: "com.example.app", pushType: .liveActivity,
                payload: Payload(
                    stored: Array(#"{"aps":{"event":"\#(String(repeating: "e", count: 5000))"}}"#.utf8),
                    contents: [.aps]))
            for version in [nil, 7] as [UInt64?] {
                one.peers.broadcast(
                    PeerBroadcast(
                        channel: channel, notification: notification,
                        version: version.map { BroadcastVersion(rawValue: $0) }))
            }
            let events = try await two.receiver.events(2)
            #expect(events == ["broadcast \(channel.id) unstored", "broadcast \(channel.id) 7"])
            two.peers.broadcast(PeerBroadcast(channel: channel, notification: notification, version: nil))
            #expect(try await one.receiver.events(1) == ["broadcast \(channel.id) unstored"])
        }
    }

    @Test
    func `If the connection ends, the offers without an outcome are returned, and it is made again`() async throws {
        try await withTwo { one, two in
            #expect(one.peers.offer(offer(one, 1), epoch: 1, to: two.id))
            #expect(one.peers.offer(offer(one, 2), epoch: 1, to: two.id))
            _ = try await two.receiver.events(2)
            two.peers.report(.acknowledged, of: OfferID(origin: one.peers.origin, number: 1))
            _ = try await one.receiver.events(1)
            for link in two.peers.openLinks { link.close() }
            #expect(try await one.receiver.events(2) == ["1 acknowledged", "2 returned"])
            try await wait(while: !one.peers.offer(offer(one, 3), epoch: 1, to: two.id))
            #expect(try await two.receiver.events(3).last == "offer 3 1")
        }
    }

    @Test
    func `An offer that is refused at once is returned with the reason`() async throws {
        try await withTwo { one, two in
            two.receiver.answer.withLock { $0 = .elsewhere }
            #expect(one.peers.offer(offer(one, 1), epoch: 1, to: two.id))
            let outcomes = try await one.receiver.events(1)
            #expect(outcomes == ["1 elsewhere"])
            #expect(!one.peers.offer(offer(one, 2), epoch: 1, to: NodeID(bytes: [9])))
        }
    }

    @Test
    func `More offers without an outcome than the limit are not taken`() async throws {
        var limits = TestNode.limits
        limits.openOffers = 3
        try await withTwo(limits) { one, two in
            let taken = (1...5).map { one.peers.offer(offer(one, $0), epoch: 1, to: two.id) }
            #expect(taken == [true, true, true, false, false])
            _ = try await two.receiver.events(3)
            two.peers.report(.acknowledged, of: OfferID(origin: one.peers.origin, number: 2))
            _ = try await one.receiver.events(1)
            #expect(one.peers.offer(offer(one, 6), epoch: 1, to: two.id))
        }
    }

    @Test
    func `A new connection carries what was stored, and no offers for a while`() async throws {
        var limits = TestNode.limits
        limits.settling = .hours(1)
        try await withTwo(limits) { one, two in
            #expect(!one.peers.offer(offer(one, 1), epoch: 1, to: two.id))
            let entry = MailboxEntry(
                destination: Self.destination, notification: offer(one, 0).notification,
                expires: Timestamp(milliseconds: 1))
            one.peers.stored(
                StoredMailboxEntry(entry: entry, version: MailboxVersion(rawValue: 5)), offer: nil, epoch: 4, to: two.id
            )
            let events = try await two.receiver.events(1)
            #expect(events == ["stored 5 4"])
        }
    }

    @Test
    func `If TLS to a node fails, the cause is logged`() async throws {
        let lines = InMemoryLogHandler()
        let logger = Logger(label: "test") { _ in lines }
        let one = try await TestNode(1, TestNode.makeAuthority(), TestNode.limits, logger: logger)
        // Its certificate is of another service's authority.
        let two = try await TestNode(2, TestNode.makeAuthority(), TestNode.limits)
        one.peers.update([two.clusterNode])
        try await wait(while: lines.entries.isEmpty)
        let cause = "\(lines.entries.first?.metadata["cause"] ?? "")"
        #expect(cause.contains("CERTIFICATE_VERIFY_FAILED"), "\(cause)")
        for node in [one, two] { await node.close() }
    }

    @Test
    func `A node that no longer answers is given up, and its offers are returned`() async throws {
        let authority = try TestNode.makeAuthority()
        var limits = TestNode.limits
        limits.silence = .seconds(3)
        limits.pingInterval = .milliseconds(200)
        let (one, two) = (try await TestNode(1, authority, limits), try await TestNode(2, authority, TestNode.limits))
        // Between them is a proxy that stops.
        let proxy = try await StoppingProxy(to: two.port)
        one.peers.update([ClusterNode(id: two.id, name: "two", peer: "127.0.0.1:\(proxy.port)", state: .active)])
        try await wait(while: one.peers.connected == 0)
        #expect(one.peers.offer(offer(one, 1), epoch: 1, to: two.id))
        _ = try await two.receiver.events(1)
        proxy.stop()
        #expect(try await one.receiver.events(1) == ["1 returned"])
        for node in [one, two] { await node.close() }
        try await proxy.close()
    }

    @Test
    func `An offer that a stalled connection brings after something newer from the store is refused`() async throws {
        let authority = try TestNode.makeAuthority()
        let limits = TestNode.limits
        let (one, two) = (try await TestNode(1, authority, limits), try await TestNode(2, authority, limits))
        let proxy = try await StoppingProxy(to: two.port)
        one.peers.update([ClusterNode(id: two.id, name: "two", peer: "127.0.0.1:\(proxy.port)", state: .active)])
        try await wait(while: one.peers.connected == 0 || two.peers.connected == 0)
        let other = Destination(environment: .development, device: DeviceID(rawValue: 7), app: AppID(rawValue: 4))
        let ended = Destination(environment: .development, device: DeviceID(rawValue: 7), app: AppID(rawValue: 5))
        func entry(_ version: UInt64, of destination: Destination = Self.destination) -> StoredMailboxEntry {
            StoredMailboxEntry(
                entry: MailboxEntry(
                    destination: destination, notification: offer(one, 0).notification,
                    expires: Timestamp(milliseconds: 1)),
                version: MailboxVersion(rawValue: version))
        }
        proxy.stop()
        for (number, destination) in [(1, Self.destination), (2, other), (3, ended)] as [(UInt64, Destination)] {
            #expect(one.peers.offer(offer(one, number, to: destination), epoch: 1, to: two.id))
        }
        for app in [Self.destination, ended] {
            let once = Offer(id: nil, destination: app, notification: offer(one, 0).notification)
            #expect(one.peers.offer(once, epoch: 1, to: two.id))
        }
        one.peers.stored(entry(4, of: ended), offer: nil, epoch: 1, to: two.id)
        one.peers.stored(entry(5), offer: nil, epoch: 1, to: two.id)
        two.peers.refuseEarlier(for: [Self.destination], isEnded: false)
        two.peers.refuseEarlier(for: [ended], isEnded: true)
        proxy.goOn()
        #expect(try await one.receiver.events(2) == ["1 returned", "3 returned"])
        // An offer without an identifier has a single attempt, and waits for nothing.
        #expect(
            try await two.receiver.events(6) == [
                "refused 1", "offer 2 1", "refused 3", "offer 0 1", "refused 0", "stored 5 1",
            ])
        // As soon as the barriers have come back, offers are taken again.
        for app in [Self.destination, ended] {
            var number = app == ended ? 100 : 10 as UInt64
            func isAnswered() async throws -> Bool {
                if try await isTaken() { return true }
                return try await one.receiver.events(2).contains("\(number) returned")
            }
            func isTaken() async throws -> Bool { try await two.receiver.events(6).contains("offer \(number) 1") }
            repeat {
                number += 1
                #expect(one.peers.offer(offer(one, number, to: app), epoch: 1, to: two.id))
                try await wait(while: !(try await isAnswered()))
            } while !(try await isTaken())
        }
        // A node that may have missed announcements refuses everything.
        proxy.stop()
        #expect(one.peers.offer(offer(one, 1000, to: other), epoch: 1, to: two.id))
        two.peers.refuseEarlier(for: nil, isEnded: false)
        proxy.goOn()
        try await wait(while: !(try await one.receiver.events(2).contains("1000 returned")))
        for node in [one, two] { await node.close() }
        try await proxy.close()
    }

    @Test
    func `Nodes answer what they have logged, and one that does not answer is missing`() async throws {
        try await withTwo { one, two in
            let id = NotificationID(high: 1, low: 2)
            two.peers.answerLogQuestions { asked in asked == id ? ["first", "second"] : [] }
            let nobody = NodeID(bytes: [9])
            #expect(
                await one.peers.log(of: id, at: [two.id, nobody], within: .seconds(60)) == [
                    two.id: ["first", "second"]
                ])
            #expect(
                await one.peers.log(of: NotificationID(high: 0, low: 0), at: [two.id], within: .seconds(60))
                    == [two.id: []])
            // This one cannot answer.
            #expect(await two.peers.log(of: id, at: [one.id], within: .milliseconds(1)) == [:])
        }
    }

    @Test
    func `A node that cannot read its log does not answer, and answers when it can`() async throws {
        struct Unreadable: Error {}
        try await withTwo { one, two in
            let id = NotificationID(high: 1, low: 2)
            let asked = Mutex(0)
            two.peers.answerLogQuestions { _ in
                asked.withLock { $0 += 1 }
                throw Unreadable()
            }
            // An answer without entries would end the question early.
            #expect(await one.peers.log(of: id, at: [two.id], within: .milliseconds(200)) == [:])
            try await wait(while: asked.withLock { $0 } == 0)
            two.peers.answerLogQuestions { _ in ["first"] }
            #expect(await one.peers.log(of: id, at: [two.id], within: .seconds(60)) == [two.id: ["first"]])
        }
    }

    private static func key(_ number: UInt64, _ environment: Environment = .development) -> DeviceKey {
        DeviceKey(environment: environment, device: DeviceID(rawValue: number))
    }

    @Test
    func `Nodes answer which devices are connected to them, and one that does not answer is missing`() async throws {
        try await withTwo { one, two in
            let held = [AppID(rawValue: 3): HeldNotifications(count: 2, stored: MailboxVersion(rawValue: 9))]
            let devices = [
                ConnectedDevice(key: Self.key(1), since: Timestamp(milliseconds: 5), power: .low, held: held),
                ConnectedDevice(
                    key: Self.key(.max, .production), since: Timestamp(milliseconds: 7), power: .charging, held: [:]),
            ]
            let asked = Mutex<[[DeviceKey]]>([])
            two.peers.answerDeviceQuestions { keys in
                asked.withLock { $0.append(keys) }
                // A defect: a device that nobody has asked for.
                return devices + [TestNode.connected(Self.key(4))]
            }
            let question = [Self.key(1), Self.key(2), Self.key(.max, .production)]
            let nobody = NodeID(bytes: [9])
            #expect(
                await one.peers.connected(among: question, at: [two.id, nobody], within: .seconds(60)) == [
                    two.id: devices
                ])
            // All devices travel in one question.
            #expect(asked.withLock { $0 } == [question])
            // This one cannot answer.
            #expect(await two.peers.connected(among: question, at: [one.id], within: .milliseconds(1)) == [:])
            two.peers.answerDeviceQuestions { _ in [] }
            #expect(
                await one.peers.connected(among: question, at: [two.id], within: .seconds(60)) == [two.id: []])
        }
    }

    @Test
    func `A node of an earlier release is not asked for devices, is missing at once, and stays connected`() async throws
    {
        let node = try await TestNode(1, TestNode.makeAuthority(), TestNode.limits)
        let earlier = EarlierNode()
        let channel = try await earlier.call(node)
        try await wait(while: node.peers.connected == 0)
        #expect(await node.peers.connected(among: [Self.key(1)], at: [earlier.id], within: .seconds(3600)) == [:])
        // The next record is one that it knows, a question about the log.
        let id = NotificationID(high: 1, low: 2)
        #expect(await node.peers.log(of: id, at: [earlier.id], within: .milliseconds(1)) == [:])
        #expect(try await earlier.kinds(1) == [4])
        #expect(node.peers.connected == 1)
        try await channel.close()
        await node.close()
    }

    @Test
    func `Only nodes of the same service are let in`() async throws {
        let limits = TestNode.limits
        let (one, two) = (
            try await TestNode(1, TestNode.makeAuthority(), limits),
            try await TestNode(2, TestNode.makeAuthority(), limits)
        )
        // A device of the right service is no node.
        let context = try two.context { authority, random in
            let key = P256.Signing.PrivateKey()
            let issued = try authority.issueDeviceCertificate(
                request: Array(SigningRequest.pem(for: key).utf8), device: DeviceID(rawValue: 1),
                environment: .development, now: Date().timeIntervalSince1970, using: &random)
            return (issued.chainPEM, key.pemRepresentation)
        }
        let device = Peers(
            node: NodeID(bytes: [1]), origin: OfferOrigin(rawValue: 9), isReachable: false,
            group: MultiThreadedEventLoopGroup.singleton, logger: TestNode.logger
        ) { context }
        for peers in [one.peers, device] {
            let caller = PeerCaller(
                peers, two.id, "127.0.0.1:\(two.port)", group: MultiThreadedEventLoopGroup.singleton,
                tls: { try peers === device ? context : one.context() })
            try? await caller.call()
            #expect(peers.connected == 0 && two.peers.connected == 0)
        }
        for node in [one, two] { await node.close() }
    }
}
