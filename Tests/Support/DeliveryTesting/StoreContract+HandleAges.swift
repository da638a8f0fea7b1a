import Delivery
import Notifications
import Storage
import Testing

extension StoreContract {
    static let handleAgePromises: [Promise] = [
        Promise("a handle that has ended does not count until it is stored again", countsActive),
        Promise("a handle that was not registered for a long time ends", endsAged),
        Promise("the end of a handle is forgotten in the end", forgetsEnds),
        Promise("the handles of a grant are listed by their state, in pages", listsByState),
        Promise("removing a handle that has ended leaves the count", removesEnded),
        Promise("a code counts once, for its grant", codeCountsOnce),
        Promise("a code is not used up if the handle is not stored", codeIsKept),
        Promise("of many that use a code together, one gets a handle", codeCountsOnceTogether),
    ]

    private static let day = Duration.seconds(86_400)

    /// What is due so many days after the first registration.
    private static func sweep(_ days: Int) -> HandleSweep {
        HandleSweep(rules: GrantRules(), at: Samples.moment.advanced(by: day * days))
    }

    private static func end(_ days: Int) -> HandleEnd {
        HandleEnd(reason: .unregistered, moment: Samples.later, noted: Samples.moment.advanced(by: day * days))
    }

    @Sendable
    private static func countsActive(_ ports: Ports) async throws {
        let grant = try await grant(ports)
        let (one, two) = (try handle(1, of: grant), try handle(2, of: grant))
        try await ports.grants.put([one], limit: 1)
        try await ports.grants.end(one.handle, end(0))
        try await ports.grants.end(one.handle, end(1))
        #expect(try await ports.grants.handleCounts(of: grant.id) == [:])
        try await ports.grants.put([two], limit: 1)
        await #expect(throws: StoreError.tooManyHandles(1)) { try await ports.grants.put([one], limit: 1) }
        #expect(try await stored(ports, one)?.end == end(0))
        try await ports.grants.put([one], limit: 2)
        #expect(try await stored(ports, one)?.end == nil)
        #expect(try await ports.grants.handleCounts(of: grant.id) == [grant.id: 2])
    }

    @Sendable
    private static func endsAged(_ ports: Ports) async throws {
        let grant = try await grant(ports)
        let old = try [1, 2, 3].map { try handle($0, of: grant) }
        let young = try handle(9, of: grant, registered: Samples.moment.advanced(by: day))
        try await ports.grants.put(old + [young], limit: 10)
        #expect(try await ports.grants.sweep(sweep(179), after: nil, limit: 2) == [])
        let first = try await ports.grants.sweep(sweep(180), after: nil, limit: 2)
        #expect(first == old.prefix(2).map(\.handle))
        #expect(try await ports.grants.sweep(sweep(180), after: first.last, limit: 2) == [old[2].handle])
        #expect(try await ports.grants.handleCounts() == [grant.id: 1])
        let moment = Samples.moment.advanced(by: day * 180)
        #expect(
            try await stored(ports, old[0])?.end == HandleEnd(reason: .unregistered, moment: moment, noted: moment))
        #expect(sweep(180).end(of: old[0]) == HandleEnd(reason: .unregistered, moment: moment, noted: moment))
        #expect(sweep(179).end(of: old[0]) == nil)
    }

    @Sendable
    private static func forgetsEnds(_ ports: Ports) async throws {
        let handle = try handle(1, of: try await grant(ports))
        try await ports.grants.put([handle], limit: 1)
        try await ports.grants.end(handle.handle, end(10))
        #expect(try await ports.grants.sweep(sweep(374), after: nil, limit: 10) == [])
        #expect(try await ports.grants.sweep(sweep(375), after: nil, limit: 10) == [handle.handle])
        #expect(try await stored(ports, handle) == nil)
        #expect(try await ports.grants.handleCounts() == [:])
    }

    @Sendable
    private static func listsByState(_ ports: Ports) async throws {
        let (grant, other) = (try await grant(ports), try await grant(ports, "two"))
        let handles = try [1, 2, 3, 4].map { try handle($0, of: grant) }
        try await ports.grants.put(handles + [try handle(5, of: other)], limit: 10)
        try await ports.grants.end(handles[1].handle, end(1))
        func list(_ isEnded: Bool?, _ days: Int, after: Handle? = nil, limit: Int = 10) async throws -> [UInt8] {
            try await ports.grants.handles(
                of: grant.id, isEnded: isEnded, sweep(days), after: after, limit: limit
            ).map { $0.handle.bytes[0] }
        }
        #expect(try await list(nil, 30) == [1, 2, 3, 4])
        #expect(try await list(false, 30, limit: 2) == [1, 3])
        #expect(try await list(false, 30, after: handles[2].handle) == [4])
        #expect(try await list(true, 30) == [2])
        #expect(try await list(true, 31) == [], "An end is listed for 30 days.")
        #expect(try await list(true, 180) == [1, 3, 4], "These were not registered for 180 days.")
        #expect(try await list(false, 180) == [])
    }

    @Sendable
    private static func removesEnded(_ ports: Ports) async throws {
        let grant = try await grant(ports)
        let (one, two) = (try handle(1, of: grant), try handle(2, of: grant))
        try await ports.grants.put([one, two], limit: 2)
        try await ports.grants.end(one.handle, end(0))
        #expect(try await ports.grants.remove(one.handle, of: grant.id))
        #expect(try await ports.grants.handleCounts() == [grant.id: 1])
    }

    private static func code(_ byte: UInt8, of grant: Grant, at now: Timestamp = Samples.moment) -> UsedCode {
        UsedCode(
            grant: grant.id, digest: [UInt8](repeating: byte, count: 32), expires: now.advanced(by: .seconds(600)),
            now: now)
    }

    @Sendable
    private static func codeCountsOnce(_ ports: Ports) async throws {
        let (grant, other) = (try await grant(ports), try await grant(ports, "two"))
        let handle = try handle(1, of: grant)
        try await ports.grants.put([handle], limit: 10, code: code(1, of: grant))
        await #expect(throws: StoreError.codeWasUsed) {
            try await ports.grants.put([handle], limit: 10, code: code(1, of: grant, at: Samples.later))
        }
        try await ports.grants.put([handle], limit: 10, code: code(2, of: grant))
        try await ports.grants.put([try self.handle(2, of: other)], limit: 10, code: code(1, of: other))
    }

    @Sendable
    private static func codeIsKept(_ ports: Ports) async throws {
        let grant = try await grant(ports)
        try await ports.grants.put([try handle(1, of: grant)], limit: 1)
        await #expect(throws: StoreError.tooManyHandles(1)) {
            try await ports.grants.put([try handle(2, of: grant)], limit: 1, code: code(1, of: grant))
        }
        try await ports.grants.put([try handle(2, of: grant)], limit: 2, code: code(1, of: grant))
    }

    @Sendable
    private static func codeCountsOnceTogether(_ ports: Ports) async throws {
        let grant = try await grant(ports)
        let count = await withTaskGroup(of: Int.self) { group in
            for byte in 1...10 {
                group.addTask {
                    do {
                        try await ports.grants.put(
                            [try handle(UInt8(byte), of: grant)], limit: 100, code: code(1, of: grant))
                        return 1
                    } catch {
                        return 0
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(count == 1)
        #expect(try await ports.grants.handleCounts() == [grant.id: 1])
    }
}
