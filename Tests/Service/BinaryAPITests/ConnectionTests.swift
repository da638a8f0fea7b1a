import BinaryAPI
import Connections
import Delivery
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Notifications
import CommonTesting
import Testing

/// One connection to the binary API: which clients get one, how many notifications it accepts, and how it ends.
@Suite("A binary connection", .timeLimit(.minutes(1)))
struct ConnectionTests {
    private static func payload(_ number: Int) -> [UInt8] { Array(#"{"aps":{"badge":\#(number)}}"#.utf8) }

    private static func text(_ number: Int) -> String { String(decoding: payload(number), as: UTF8.self) }

    /// Sends an invalid notification, and expects that the error packet is about this one.
    private static func probe(
        _ client: LegacyClient,
        sourceLocation: SourceLocation = #_sourceLocation,
    ) async throws {
        try await client.write(Packet.items(.max, token: nil))
        #expect(try await client.readToEnd() == [8, 2, 255, 255, 255, 255], sourceLocation: sourceLocation)
    }

    // MARK: Who gets one

    @Test(arguments: [TLSVersion.tlsv12, .tlsv13])
    func `A connection without a certificate is refused`(_ version: TLSVersion) async throws {
        try await BinaryRig.run { rig in
            var tls = try rig.anonymousTLS()
            tls.maximumTLSVersion = version
            let client = try await rig.connect(.binary, tls)
            #expect(try await client.readToEnd() == [])
            #expect(try await client.failure() != nil)
        }
    }

    @Test
    func `Certificates of the other environment, expired ones and foreign ones are refused`() async throws {
        try await BinaryRig.run { rig in
            var stranger = try rig.anonymousTLS()
            try await BinaryRig.run { other in
                let tls = try await other.tls()
                (stranger.certificateChain, stranger.privateKey) = (tls.certificateChain, tls.privateKey)
            }
            let longAgo = Date(timeIntervalSinceNow: -20 * 365 * 24 * 60 * 60)
            for tls in [
                try await rig.tls(environments: [.development]), try await rig.tls(issuedAt: longAgo), stranger,
            ] {
                let client = try await rig.connect(.binary, tls)
                #expect(try await client.readToEnd() == [])
                #expect(try await client.failure()?.contains("CERTIFICATE") == true)
            }
        }
    }

    @Test(arguments: Environment.allCases)
    func `A universal certificate is accepted in both environments`(_ environment: Environment) async throws {
        try await BinaryRig.run {
            $0.environment = environment
        } _: { rig in
            let client = try await rig.connect(.binary, rig.tls(environments: Set(Environment.allCases)))
            try await Self.probe(client)
        }
    }

    @Test(arguments: [
        BinaryRig.Service.binary, .feedback,
    ])
    func `A client that offers HTTP/2 is refused in the TLS handshake, on both ports`(
        _ service: BinaryRig.Service
    ) async throws {
        try await BinaryRig.run { rig in
            var tls = try await rig.tls()
            tls.applicationProtocols = ["h2", "http/1.1"]
            let client = try await rig.connect(service, tls)
            #expect(try await client.readToEnd() == [])
            #expect(try await client.failure()?.contains("NO_APPLICATION_PROTOCOL") == true)
        }
    }

    @Test
    func `A client that offers only another protocol is refused`() async throws {
        try await BinaryRig.run { rig in
            var tls = try await rig.tls()
            tls.applicationProtocols = ["apns-legacy"]
            let client = try await rig.connect(.binary, tls)
            #expect(try await client.readToEnd() == [])
            #expect(try await client.failure()?.contains("NO_APPLICATION_PROTOCOL") == true)
        }
    }

    @Test
    func `TLS older than 1.2 is refused`() async throws {
        try await BinaryRig.run { rig in
            var tls = try await rig.tls()
            (tls.minimumTLSVersion, tls.maximumTLSVersion) = (.tlsv1, .tlsv11)
            let client = try await rig.connect(.binary, tls)
            #expect(try await client.readToEnd() == [])
            #expect(try await client.failure() != nil)
        }
    }

    @Test
    func `Bytes that are not TLS end the connection`() async throws {
        try await BinaryRig.run { rig in
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(to: rig.binaryAddress).get()
            try await channel.writeAndFlush(ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"))
            try await channel.closeFuture.get()
        }
    }

    @Test
    func `Revoking a certificate ends its connections, with the last accepted identifier`() async throws {
        try await BinaryRig.run { rig in
            let token = try await rig.register()
            let device = rig.online()
            let client = try await rig.connect(.binary, rig.tls())
            try await client.write(Packet.items(5, token: token))
            _ = await device.first(1)
            try await rig.revokeEverything()
            #expect(try await client.readToEnd() == [8, 10, 0, 0, 0, 5])
        }
    }

    // MARK: How it ends

    @Test
    func `A faulty notification of the legacy format ends the connection without a packet`() async throws {
        try await BinaryRig.run { rig in
            let token = try await rig.register()
            let device = rig.online()
            let client = try await rig.connect()
            try await client.write(
                Packet.legacy(token: token, payload: Self.payload(1)) + Packet.legacy(payload: [])
                    + Packet.legacy(token: token, payload: Self.payload(2)))
            #expect(try await client.readToEnd() == [])
            #expect(await device.first(1).map(\.text) == [Self.text(1)])
        }
    }

    @Test
    func `A legacy notification to an unknown device token ends the connection without a packet`() async throws {
        try await BinaryRig.run { rig in
            let client = try await rig.connect()
            try await client.write(Packet.legacy())
            #expect(try await client.readToEnd() == [])
        }
    }

    @Test
    func `The error packet arrives even while the client goes on sending`() async throws {
        try await BinaryRig.run { rig in
            let client = try await rig.connect()
            try await client.write(Packet.items(7, token: nil))
            let more = (0..<2000).flatMap { Packet.items(UInt32($0)) }
            for _ in 0..<10 { try? await client.write(more) }
            #expect(try await client.read(6) == [8, 2, 0, 0, 0, 7])
            await client.close()
        }
    }

    @Test
    func `Notifications that a client wrote before it closed are delivered`() async throws {
        try await BinaryRig.run {
            $0.limits.maximumUnanswered = 8
            $0.delivery.unacknowledgedPerDevice = 2000
        } _: { rig in
            let token = try await rig.register()
            let device = rig.online()
            let client = try await rig.connect()
            let numbers = 1...500
            try await client.write(
                numbers.flatMap { Packet.enhanced(UInt32($0), expiration: 0, token: token, payload: Self.payload($0)) })
            await client.close()
            #expect(await device.first(numbers.count).map(\.text) == numbers.map(Self.text))
        }
    }

    @Test
    func `A notification to a removed app is not a fault, and the others are delivered`() async throws {
        try await BinaryRig.run { rig in
            let (gone, token) = (try await rig.register(1), try await rig.register(2))
            try await rig.unregister(1)
            let device = rig.online(2)
            let client = try await rig.connect()
            try await client.write(
                Packet.items(1, token: gone) + Packet.items(2, token: token, payload: Self.payload(2))
                    + Packet.items(3, token: gone) + Packet.items(4, token: token, payload: Self.payload(4)))
            try await Self.probe(client)
            #expect(await device.first(2).map(\.text) == [Self.text(2), Self.text(4)])
        }
    }

    // MARK: How much it takes

    @Test(arguments: [false, true])
    func `If one in the middle of ten thousand is rejected, exactly those before it are delivered`(
        _ isKnownToDelivery: Bool
    ) async throws {
        try await BinaryRig.run {
            $0.delivery.unacknowledgedPerDevice = 20_000
        } _: { rig in
            let token = try await rig.register()
            // If the token is valid and only its device is unknown, Delivery refuses it; otherwise the gateway does.
            let bad = isKnownToDelivery ? try rig.token(99) : Packet.token
            let device = rig.online()
            let client = try await rig.connect()
            let bytes = (1...10_000).flatMap { number in
                Packet.items(
                    UInt32(number), expiration: 0, token: number == 5000 ? bad : token, payload: Self.payload(number))
            }
            try await client.write(bytes)
            #expect(try await client.readToEnd() == [8, 8] + Packet.int32(5000))
            let other = try await rig.connect()
            try await other.write(Packet.items(expiration: 0, token: token, payload: Self.payload(0)))
            #expect(await device.first(5000).map(\.text) == (1..<5000).map(Self.text) + [Self.text(0)])
            await other.close()
        }
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `However a stream is split, all of it is delivered, in order`(_ seed: UInt64) async throws {
        try await BinaryRig.run {
            // On a busy machine the pieces of one packet may take longer than its limit.
            $0.limits.packetTimeout = .hours(1)
        } _: { rig in
            let token = try await rig.register()
            let device = rig.online()
            let client = try await rig.connect()
            var random = SeededGenerator(seed: seed)
            let stream = (1...60).flatMap { number -> [UInt8] in
                switch number % 3 {
                case 0: Packet.legacy(token: token, payload: Self.payload(number))
                case 1: Packet.enhanced(UInt32(number), expiration: .max, token: token, payload: Self.payload(number))
                default: Packet.items(UInt32(number), token: token, payload: Self.payload(number))
                }
            }
            for piece in DecoderTests.cut(stream, using: &random) { try await client.write(piece) }
            #expect(await device.first(60).map(\.text) == (1...60).map(Self.text))
            try await Self.probe(client)
        }
    }

    @Test
    func `While the store is slow, a connection has at most its limit of open notifications`() async throws {
        try await BinaryRig.run {
            $0.limits.maximumUnanswered = 4
        } _: { rig in
            var tokens: [[UInt8]] = []
            for device in 1...200 as ClosedRange<UInt64> { tokens.append(try await rig.register(device)) }
            let client = try await rig.connect()
            try await client.write(tokens.enumerated().flatMap { Packet.items(UInt32($0.offset), token: $0.element) })
            try await Self.probe(client)
            for device in 1...200 as ClosedRange<UInt64> { #expect(try await rig.mailbox(device).count == 1) }
        }
    }

    @Test
    func `Answers that come on the connection's own event loop make room too`() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        try await BinaryRig.run {
            $0.limits.maximumUnanswered = 4
            $0.group = group
            // Only the device's acknowledgement leads to the answer; nothing is stored before it.
            $0.delivery.acknowledgementGrace = .seconds(3600)
        } _: { rig in
            let token = try await rig.register()
            let device = rig.online(on: group.next())
            let client = try await rig.connect()
            let numbers = 1...200
            try await client.write(
                numbers.flatMap { Packet.items(UInt32($0), token: token, payload: Self.payload($0)) })
            #expect(await device.first(numbers.count).map(\.text) == numbers.map(Self.text))
            try await Self.probe(client)
        }
        try await group.shutdownGracefully()
    }

    // MARK: Patience

    @Test
    func `A notification that does not end in time ends the connection, with the last accepted identifier`()
        async throws
    {
        try await BinaryRig.run {
            $0.limits.packetTimeout = .milliseconds(1)
        } _: { rig in
            let token = try await rig.register()
            let device = rig.online()
            let client = try await rig.connect()
            try await client.write(Packet.items(3, token: token) + [2, 0, 0])
            _ = await device.first(1)
            #expect(try await client.readToEnd() == [8, 10, 0, 0, 0, 3])
            #expect(rig.exceeded.limits == [.binaryPacketTimeout])
        }
    }

    @Test
    func `A connection that has no notification for too long ends`() async throws {
        try await BinaryRig.run {
            $0.limits.idleTimeout = .milliseconds(1)
        } _: { rig in
            let client = try await rig.connect()
            #expect(try await client.readToEnd() == [8, 10, 0, 0, 0, 0])
            #expect(rig.exceeded.limits == [.binaryIdleTimeout])
        }
    }

    @Test
    func `A client that neither reads nor closes is disconnected`() async throws {
        try await BinaryRig.run {
            $0.limits.lingerTimeout = .milliseconds(1)
        } _: { rig in
            let client = try await rig.connect(limit: 0, closes: false)
            try await client.write(Packet.items(3, token: nil))
            await rig.exceeded.wait(for: .binaryLingerTimeout)
            // `shutDown` waits until all connections have ended. The client does not close its connection, so the
            // service has ended it.
            // one.
            await rig.shutDown(within: .minutes(10))
            try await client.breakOff()
        }
    }
}
