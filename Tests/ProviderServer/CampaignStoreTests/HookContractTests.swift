import CampaignStore
import Testing

/// The events that wait for a hook whose receiver is away.
@Suite(.timeLimit(.minutes(2))) struct HookContractTests {
    @Test(arguments: StoreKind.allCases)
    func `If too many events wait for a hook, the oldest are given up`(_ kind: StoreKind) async throws {
        try await kind.with(waitingDeliveries: 3) { store in
            let app = try await store.put(Sample.app()).number
            for id in ["h", "other"] {
                try await store.add(Hook(id: id, app: app, url: "https://x", sealedSecret: []), limit: 2)
            }
            _ = try await store.add(Sample.message("m", app: app), idempotency: nil)
            func add(_ names: ClosedRange<Int>) async throws {
                for name in names {
                    _ = try await store.changeMessage("m") { _ in ProviderEvent(kind: "\(name)", body: [1]) }
                }
            }
            func waiting() async throws -> [String] {
                try await store.openDeliveries(limit: 10).filter { $0.hook.id == "h" }.map(\.event.kind)
            }
            try await add(1...3)
            #expect(try await waiting() == ["1", "2", "3"])
            // The attempts to send these two are under way.
            var underWay = try await store.openDeliveries(limit: 10).filter { $0.hook.id == "h" }
            for delivery in underWay { #expect(try await store.hold(delivery, for: .seconds(60)) == [1]) }
            try await add(4...5)
            #expect(try await waiting() == ["3", "4", "5"])
            let log = try await store.deliveries(hook: "h", app: app, before: nil, limit: 10)
            #expect(log.map(\.event.kind) == ["5", "4", "3", "2", "1"])
            #expect(log.map { $0.next == nil } == [false, false, false, true, true])
            #expect(log.map(\.cause) == [nil, nil, nil, HookDelivery.tooMany, HookDelivery.tooMany])
            #expect(try await store.hold(underWay[0], for: .seconds(60)) == nil)
            // One of the attempts fails, and the other one succeeds.
            for index in 0..<2 { underWay[index].attempts = 1 }
            underWay[0].cause = "no"
            underWay[0].next = Sample.now
            underWay[1].next = nil
            for delivery in underWay.prefix(2) { try await store.record(delivery) }
            #expect(try await waiting() == ["3", "4", "5"])
            let ended = try await store.deliveries(hook: "h", app: app, before: nil, limit: 10).suffix(2)
            #expect(ended.map(\.cause) == [nil, "no"] && ended.allSatisfy { $0.next == nil })
        }
    }
}
