import Delivery
import Notifications
import Storage
import Testing

extension StoreContract {
    static let heldPromises: [Promise] = [
        Promise("a held notification reads back as it was, the oldest first", heldReadsBack),
        Promise("a held notification that is taken is given to nobody else", takesHeldOnce),
        Promise("a held notification that has expired is removed and not given", removesExpiredHeld),
    ]

    private static func place(_ name: String = "com.example.held") throws -> UpstreamPlace {
        UpstreamPlace(bundleID: try Samples.bundleID(name), environment: .production)
    }

    private static func push(_ id: Int, _ place: UpstreamPlace, expires: Timestamp = Samples.muchLater) -> HeldPush {
        var push = ForwardedPush(
            deviceToken: [UInt8](repeating: UInt8(id), count: 80), topic: "com.example.held",
            id: "8b1e5b4a-9c0c-4d5e-8f00-00000000000\(id)", payload: Array(#"{"aps":{}}"#.utf8),
            share: ForwardingShare(rawValue: "team"), via: "2 gateway")
        push.priority = "5"
        return HeldPush(push, of: place, expires: expires)
    }

    private static func take(
        _ ports: Ports, _ place: UpstreamPlace, limit: Int = 10, at moment: Timestamp = Samples.moment,
    ) async throws -> [HeldPush] {
        try await ports.held.claimHeld(of: place, limit: limit, at: moment, until: moment.advanced(by: .seconds(60)))
    }

    @Sendable
    private static func heldReadsBack(_ ports: Ports) async throws {
        let (one, other) = (try place(), try place("com.example.other"))
        for id in 1...3 { try await ports.held.hold(push(id, one)) }
        try await ports.held.hold(push(4, other))
        #expect(Set(try await ports.held.heldPlaces(at: Samples.moment)) == [one, other])
        let taken = try await take(ports, one, limit: 2)
        #expect(taken.map(\.push) == [push(1, one).push, push(2, one).push])
        #expect(taken.allSatisfy { $0.place == one && $0.expires == Samples.muchLater })
    }

    @Sendable
    private static func takesHeldOnce(_ ports: Ports) async throws {
        let place = try place()
        for id in 1...2 { try await ports.held.hold(push(id, place)) }
        let taken = try await take(ports, place)
        #expect(taken.count == 2)
        #expect(try await take(ports, place).isEmpty)
        #expect(try await ports.held.heldPlaces(at: Samples.moment).isEmpty)
        try await ports.held.giveBackHeld([taken[0].number])
        #expect(try await take(ports, place).map(\.number) == [taken[0].number])
        try await ports.held.removeHeld([taken[0].number])
        // The other one's sender is gone.
        let later = Samples.moment.advanced(by: .seconds(61))
        #expect(try await take(ports, place, at: later).map(\.number) == [taken[1].number])
    }

    @Sendable
    private static func removesExpiredHeld(_ ports: Ports) async throws {
        let place = try place()
        try await ports.held.hold(push(1, place, expires: Samples.later))
        try await ports.held.hold(push(2, place))
        let now = Samples.later
        #expect(try await ports.held.removeExpiredHeld(at: now, limit: 10).map(\.push) == [push(1, place).push])
        #expect(try await ports.held.removeExpiredHeld(at: now, limit: 10).isEmpty)
        #expect(try await take(ports, place, at: now).count == 1)
    }
}
