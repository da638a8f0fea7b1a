import CommonTesting
import Delivery
import Matching
import NIOCore
import Notifications
import Rehearsals
import Testing

/// Every fault of a rehearsal that is possible in the binary API, as a provider sees it.
@Suite("A rehearsal of the binary API", .timeLimit(.minutes(1)))
struct BinaryRehearsalTests {
    private static func payload(_ number: Int) -> [UInt8] { Array(#"{"aps":{"badge":\#(number)}}"#.utf8) }

    private static func text(_ number: Int) -> String { String(decoding: payload(number), as: UTF8.self) }

    /// Runs a rig in which the first notification or connection gets a fault.
    private static func run(
        _ fault: Rehearsal.Fault,
        _ body: (BinaryRig, RehearsalDirector) async throws -> Void,
    ) async throws {
        let director = RehearsalDirector(next: RequestCounter()) { .zero }
        let observation = RequestObservation(director)
        director.direct(observation)
        let rule = Rehearsal.Rule(name: "fault", match: RequestMatch(), selection: .first(1), fault: fault)
        #expect(director.begin(Rehearsal(rules: [rule]), time: Timestamp(milliseconds: 0)) != nil)
        try await BinaryRig.run {
            $0.environment = .development
            $0.observation = observation
        } _: { rig in
            try await body(rig, director)
            #expect(director.all.first?.rehearsal.counts.first?.fired == 1)
        }
    }

    private static func request(_ kind: RequestFault.Kind, isAccepted: Bool = false) -> Rehearsal.Fault {
        .request(RequestFault(kind, isAccepted: isAccepted))
    }

    @Test func `An error packet names the notification, which is not delivered`() async throws {
        try await Self.run(Self.request(.errorPacket(.shutdown))) { rig, _ in
            let token = try await rig.register()
            let client = try await rig.connect(.binary, rig.tls())
            let first = Packet.items(7, token: token, payload: Self.payload(1))
            let second = Packet.items(8, token: token, payload: Self.payload(2))
            try await client.write(first + second)
            #expect(try await client.readToEnd() == [8, 10, 0, 0, 0, 7])
            #expect(try await rig.mailbox() == [])
        }
    }

    @Test func `An error packet may name a notification that is delivered`() async throws {
        try await Self.run(Self.request(.errorPacket(.shutdown), isAccepted: true)) { rig, _ in
            let token = try await rig.register()
            let client = try await rig.connect(.binary, rig.tls())
            try await client.write(Packet.items(7, token: token, payload: Self.payload(1)))
            #expect(try await client.readToEnd() == [8, 10, 0, 0, 0, 7])
            #expect(try await rig.mailbox() == [Self.text(1)])
        }
    }

    @Test(arguments: [RequestFault.CloseKind.fin, .rst])
    func `The connection ends without an error packet`(_ kind: RequestFault.CloseKind) async throws {
        try await Self.run(Self.request(.close(kind))) { rig, _ in
            let token = try await rig.register()
            let client = try await rig.connect(.binary, rig.tls())
            let both = (1...2).map { Packet.items(UInt32($0), token: token, payload: Self.payload($0)) }
            try await client.write(both.flatMap(\.self))
            #expect(try await client.readToEnd() == [])
            #expect(try await rig.mailbox() == [])
        }
    }

    @Test func `A notification is lost, and later ones are not`() async throws {
        try await Self.run(Self.request(.lose)) { rig, _ in
            let (token, device) = (try await rig.register(), rig.online())
            let client = try await rig.connect(.binary, rig.tls())
            let both = (1...2).map { Packet.items(UInt32($0), token: token, payload: Self.payload($0)) }
            try await client.write(both.flatMap(\.self))
            #expect(await device.first(1).map { String(decoding: $0.payload.json, as: UTF8.self) } == [Self.text(2)])
            await client.close()
        }
    }

    @Test func `A notification is delivered three times`() async throws {
        try await Self.run(Self.request(.duplicate(3))) { rig, _ in
            let (token, device) = (try await rig.register(), rig.online())
            let client = try await rig.connect(.binary, rig.tls())
            try await client.write(Packet.items(1, token: token, payload: Self.payload(1)))
            #expect(await Set(device.first(3).map(\.id)).count == 1)
            try await client.write(Packet.items(2, token: token, payload: Self.payload(2)))
            #expect(await device.first(4).count == 4)
            await client.close()
        }
    }

    @Test func `A notification is accepted late, and none overtakes it`() async throws {
        try await Self.run(Self.request(.delay(.milliseconds(200)))) { rig, _ in
            let (token, device) = (try await rig.register(), rig.online())
            let client = try await rig.connect(.binary, rig.tls())
            let all = (1...3).map { Packet.items(UInt32($0), token: token, payload: Self.payload($0)) }
            try await client.write(all.flatMap(\.self))
            let received = await device.first(3).map { String(decoding: $0.payload.json, as: UTF8.self) }
            #expect(received == (1...3).map(Self.text))
            await client.close()
        }
    }

    @Test func `A shutdown waits for a notification that is accepted late`() async throws {
        try await Self.run(Self.request(.delay(.milliseconds(200)))) { rig, director in
            let token = try await rig.register()
            let client = try await rig.connect(.binary, rig.tls())
            try await client.write(Packet.items(7, token: token, payload: Self.payload(1)))
            try await wait(while: director.all.first?.rehearsal.counts.first?.fired == 0)
            async let end = client.readToEnd()
            await rig.shutDown()
            #expect(try await end == [8, 10, 0, 0, 0, 7])
            #expect(try await rig.mailbox() == [Self.text(1)])
        }
    }

    @Test func `A shutdown does not wait for a notification that hangs`() async throws {
        try await Self.run(Self.request(.hang)) { rig, director in
            let token = try await rig.register()
            let client = try await rig.connect(.binary, rig.tls())
            try await client.write(Packet.items(7, token: token, payload: Self.payload(1)))
            try await wait(while: director.all.first?.rehearsal.counts.first?.fired == 0)
            async let end = client.readToEnd()
            // Longer than the test may take.
            await rig.shutDown(within: .minutes(10))
            #expect(try await end == [8, 10, 0, 0, 0, 0])
            #expect(try await rig.mailbox() == [])
        }
    }

    @Test func `One connection hangs, and another does not`() async throws {
        try await Self.run(Self.request(.hang)) { rig, director in
            let (token, device) = (try await rig.register(), rig.online())
            let hanging = try await rig.connect(.binary, rig.tls())
            try await hanging.write(Packet.items(1, token: token, payload: Self.payload(1)))
            // If the service read this invalid notification, it would end the connection with an error packet.
            try await hanging.write(Packet.items(2, token: nil))
            try await wait(while: director.all.first?.rehearsal.counts.first?.fired == 0)
            let client = try await rig.connect(.binary, rig.tls())
            repeat {
                try await client.write(Packet.items(3, token: token, payload: Self.payload(3)))
            } while device.notifications.isEmpty
            #expect(
                device.notifications.allSatisfy { String(decoding: $0.payload.json, as: UTF8.self) == Self.text(3) })
            await hanging.close()
            await client.close()
        }
    }

    @Test func `One connection is refused, and the next is not`() async throws {
        try await Self.run(.refuse) { rig, _ in
            let refused = try await rig.connect(.binary, rig.tls())
            #expect(try await refused.readToEnd() == [])
            let client = try await rig.connect(.binary, rig.tls())
            try await client.write(Packet.items(.max, token: nil))
            #expect(try await client.readToEnd() == [8, 2, 255, 255, 255, 255])
        }
    }
}
