import Delivery
import Notifications
import Storage
import Testing

extension StoreContract {
    static let bodyPromises: [Promise] = [
        Promise("a kept body reads back until its time is over", keepsBody),
        Promise("a body that was fetched is kept for ten minutes from the first time on", keepsFetchedBody),
        Promise("an owner has no more bodies than its limit", limitsBodies),
        Promise("an owner has no more bytes of bodies than its limit", limitsBodyBytes),
        Promise("all owners together have no more bytes than their limit", limitsAllBodies),
        Promise("many that keep bodies of one owner do not exceed the limit together", limitsBodiesTogether),
        Promise("bodies whose time is over make room", bodiesMakeRoom),
        Promise("bodies are listed in the order of their digests, in pages", listsBodies),
    ]

    private static func body(
        _ digest: [UInt8], of owner: UInt8 = 1, bytes: Int = 3, life: Duration = .seconds(600)
    ) -> KeptBody {
        KeptBody(
            digest: digest, owner: [UInt8](repeating: owner, count: 32), body: [UInt8](repeating: 7, count: bytes),
            expires: Samples.moment.advanced(by: life))
    }

    private static func later(_ seconds: Int) -> Timestamp { Samples.moment.advanced(by: .seconds(seconds)) }

    @Sendable
    private static func keepsBody(_ ports: Ports) async throws {
        let body = body([1, 2])
        try await ports.bodies.keep(body, at: Samples.moment)
        #expect(try await ports.bodies.body(with: [1, 2], at: later(599)) == body)
        #expect(try await ports.bodies.body(with: [1, 2], at: later(600)) == nil)
        #expect(try await ports.bodies.body(with: [1, 3], at: Samples.moment) == nil)
        #expect(try await ports.bodies.removeExpired(at: later(599)) == 0)
        #expect(try await ports.bodies.removeExpired(at: later(600)) == 1)
        #expect(try await ports.bodies.bodies(after: nil, limit: 9) == [])
        try await ports.bodies.keep(body, at: Samples.moment)
        try await ports.bodies.remove([1, 2])
        try await ports.bodies.remove([1, 2])
        #expect(try await ports.bodies.body(with: [1, 2], at: Samples.moment) == nil)
    }

    @Sendable
    private static func keepsFetchedBody(_ ports: Ports) async throws {
        try await ports.bodies.keep(body([1], life: .seconds(86_400)), at: Samples.moment)
        try await ports.bodies.keep(body([2], life: .seconds(300)), at: Samples.moment)
        for digest in [[1], [2]] as [[UInt8]] {
            try await ports.bodies.fetched(digest, at: later(100))
            try await ports.bodies.fetched(digest, at: later(200))
            #expect(try await ports.bodies.body(with: digest, at: later(699))?.isFetched == true)
            #expect(try await ports.bodies.body(with: digest, at: later(700)) == nil)
        }
        try await ports.bodies.fetched([1], at: later(700))
        #expect(try await ports.bodies.body(with: [1], at: later(700)) == nil, "It is over.")
    }

    @Sendable
    private static func limitsBodies(_ ports: Ports) async throws {
        for number in 0..<UInt8(KeptBody.maximumCount) {
            try await ports.bodies.keep(body([number]), at: Samples.moment)
        }
        await #expect(throws: StoreError.tooManyKeptBodies) {
            try await ports.bodies.keep(body([200]), at: Samples.moment)
        }
        try await ports.bodies.keep(body([201], of: 2), at: Samples.moment)
        try await ports.bodies.remove([7])
        try await ports.bodies.keep(body([200]), at: Samples.moment)
    }

    @Sendable
    private static func limitsBodyBytes(_ ports: Ports) async throws {
        for number in 0..<64 as Range<UInt8> {
            try await ports.bodies.keep(body([number], bytes: 4096), at: Samples.moment)
        }
        await #expect(throws: StoreError.tooManyKeptBodies) {
            try await ports.bodies.keep(body([200], bytes: 1), at: Samples.moment)
        }
        try await ports.bodies.keep(body([201], of: 2, bytes: 4096), at: Samples.moment)
    }

    @Sendable
    private static func limitsAllBodies(_ ports: Ports) async throws {
        func keep(_ number: UInt8, _ bytes: Int, life: Duration = .seconds(600)) async throws {
            try await ports.bodies.keep(
                body([number], of: number, bytes: bytes, life: life), at: Samples.moment, bytesOfAll: 100)
        }
        try await keep(1, 60)
        try await keep(2, 40)
        await #expect(throws: StoreError.keptBodiesAreFull) { try await keep(3, 1) }
        try await ports.bodies.remove([2])
        try await ports.bodies.remove([2])
        await #expect(throws: StoreError.keptBodiesAreFull) { try await keep(3, 41) }
        try await keep(3, 30, life: .seconds(1))
        #expect(try await ports.bodies.removeExpired(at: later(1)) == 1)
        try await keep(4, 40)
        await #expect(throws: StoreError.keptBodiesAreFull) { try await keep(5, 1) }
    }

    @Sendable
    private static func limitsBodiesTogether(_ ports: Ports) async throws {
        for number in 0..<UInt8(KeptBody.maximumCount - 2) {
            try await ports.bodies.keep(body([number]), at: Samples.moment)
        }
        await withTaskGroup { group in
            for number in 200..<210 as Range<UInt8> {
                group.addTask { try? await ports.bodies.keep(body([number]), at: Samples.moment) }
            }
        }
        #expect(try await ports.bodies.bodies(after: nil, limit: 1000).count == KeptBody.maximumCount)
    }

    @Sendable
    private static func bodiesMakeRoom(_ ports: Ports) async throws {
        for number in 0..<UInt8(KeptBody.maximumCount) {
            let life = Duration.seconds(number == 5 ? 300 : 600)
            try await ports.bodies.keep(body([number], life: life), at: Samples.moment)
        }
        await #expect(throws: StoreError.tooManyKeptBodies) {
            try await ports.bodies.keep(body([200]), at: later(299))
        }
        try await ports.bodies.keep(body([200]), at: later(300))
    }

    @Sendable
    private static func listsBodies(_ ports: Ports) async throws {
        for number in [3, 1, 2] as [UInt8] { try await ports.bodies.keep(body([number]), at: Samples.moment) }
        let page = try await ports.bodies.bodies(after: nil, limit: 2)
        #expect(page.map(\.digest) == [[1], [2]])
        #expect(try await ports.bodies.bodies(after: [2], limit: 2) == [body([3])])
        for body in page { try await ports.bodies.remove(body.digest) }
        try await ports.bodies.fill(page)
        #expect(try await ports.bodies.bodies(after: nil, limit: 9).count == 3)
        await #expect(throws: StoreError.keptBodiesAreFull) {
            try await ports.bodies.keep(body([4], bytes: 2), at: Samples.moment, bytesOfAll: 10)
        }
    }
}
