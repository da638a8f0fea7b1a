import NIOCore
import Testing

@testable import APNSProvider

/// Which connections the client opens, and which connection gets the next request.
struct ConnectionPlanTests {
    private static let now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private func plan(usesTokens: Bool = false, connections: Int = 3, streams: Int = 10) -> ConnectionPlan {
        var limits = ConnectionPlan.Limits()
        limits.connections = connections
        limits.streams = streams
        return ConnectionPlan(usesTokens: usesTokens, limits: limits)
    }

    /// Opens a connection on which the service allows this number of streams.
    private func open(_ plan: inout ConnectionPlan, streams: Int?, at now: NIODeadline = now) -> ConnectionPlan.ID? {
        guard case .open(let id) = plan.open(at: now) else { return nil }
        plan.announced(streams, on: id)
        return id
    }

    @Test func `The first is opened at once and no second meanwhile`() {
        var plan = plan()
        #expect(plan.open(at: Self.now) == .open(1))
        #expect(plan.open(at: Self.now) == .none)
    }

    @Test func `Nothing is sent before the settings have come`() {
        var plan = plan()
        _ = plan.open(at: Self.now)
        #expect(plan.assignRequest(at: Self.now) == nil)
        plan.announced(5, on: 1)
        #expect(plan.assignRequest(at: Self.now) == 1)
    }

    @Test func `With a token one stream until it is accepted`() {
        var plan = plan(usesTokens: true)
        let id = open(&plan, streams: 10)
        #expect(plan.assignRequest(at: Self.now) == id)
        #expect(plan.assignRequest(at: Self.now) == nil)
        #expect(plan.open(at: Self.now) == .later(Self.now + .seconds(1)))
        plan.answered(on: 1, .accepted)
        #expect(plan.assignRequest(at: Self.now) == id)
    }

    @Test func `A refused token means one stream again`() {
        var plan = plan(usesTokens: true)
        _ = open(&plan, streams: 10)
        plan.answered(on: 1, .accepted)
        plan.answered(on: 1, .refused)
        #expect(plan.assignRequest(at: Self.now) == 1)
        #expect(plan.assignRequest(at: Self.now) == nil)
    }

    @Test func `An answer that says nothing of the token counts where more streams are announced`() {
        var plan = plan(usesTokens: true)
        _ = open(&plan, streams: 1)
        plan.answered(on: 1, .unknown)
        plan.announced(10, on: 1)
        #expect(plan.assignRequest(at: Self.now) == 1)
        #expect(plan.assignRequest(at: Self.now) == nil)
        plan.answered(on: 1, .unknown)
        #expect(plan.assignRequest(at: Self.now) == 1)
    }

    @Test func `The announced number holds as it changes`() {
        var plan = plan()
        _ = open(&plan, streams: 2)
        #expect(
            [plan.assignRequest(at: Self.now), plan.assignRequest(at: Self.now), plan.assignRequest(at: Self.now)] == [
                1, 1, nil,
            ])
        plan.announced(3, on: 1)
        #expect([plan.assignRequest(at: Self.now), plan.assignRequest(at: Self.now)] == [1, nil])
        plan.announced(1, on: 1)
        plan.ended(on: 1)
        plan.ended(on: 1)
        #expect(plan.assignRequest(at: Self.now) == nil)
        plan.ended(on: 1)
        #expect(plan.assignRequest(at: Self.now) == 1)
    }

    @Test func `No limit of the service means our own`() {
        var plan = plan(streams: 2)
        _ = open(&plan, streams: nil)
        #expect(
            [plan.assignRequest(at: Self.now), plan.assignRequest(at: Self.now), plan.assignRequest(at: Self.now)] == [
                1, 1, nil,
            ])
    }

    @Test func `Another is opened when all are full`() {
        var plan = plan()
        _ = open(&plan, streams: 1)
        #expect(plan.open(at: Self.now) == .none)
        _ = plan.assignRequest(at: Self.now)
        #expect(plan.open(at: Self.now) == .open(2))
    }

    @Test func `There are no more than the limit`() {
        var plan = plan(connections: 2)
        for _ in 0..<2 {
            _ = open(&plan, streams: 1)
            _ = plan.assignRequest(at: Self.now)
        }
        #expect(plan.open(at: Self.now) == .none)
    }

    @Test func `One that allows no streams is waited for`() {
        var plan = plan()
        _ = open(&plan, streams: 0)
        #expect(plan.open(at: Self.now) == .none)
        #expect(plan.allowsNoStreams)
    }

    @Test func `The one with the fewest gets the next`() {
        var plan = plan()
        _ = open(&plan, streams: 1)
        _ = plan.assignRequest(at: Self.now)
        _ = open(&plan, streams: 10)
        plan.announced(10, on: 1)
        #expect(
            [plan.assignRequest(at: Self.now), plan.assignRequest(at: Self.now), plan.assignRequest(at: Self.now)] == [
                2, 1, 2,
            ])
    }

    @Test func `One that leaves takes none and is replaced`() {
        var plan = plan()
        _ = open(&plan, streams: 5)
        plan.leave(1)
        #expect(plan.assignRequest(at: Self.now) == nil)
        #expect(plan.open(at: Self.now) == .open(2))
    }

    // MARK: Not rapidly

    @Test func `After failures it waits ever longer`() {
        var plan = plan()
        var now = Self.now
        var delays: [Int64] = []
        for _ in 0..<5 {
            guard case .open(let id) = plan.open(at: now) else { break }
            _ = plan.closed(id, at: now, random: 1)
            guard case .later(let due) = plan.open(at: now) else { break }
            delays.append((due - now).nanoseconds / 1_000_000)
            now = due
        }
        #expect(delays == [200, 400, 800, 1_600, 3_200])
    }

    @Test func `One that answers and goes is not waited for longer than a second`() {
        var plan = plan()
        var now = Self.now
        for _ in 0..<10 {
            guard let id = open(&plan, streams: 5, at: now) else { break }
            plan.answered(on: id, .accepted)
            _ = plan.closed(id, at: now, random: 1)
            guard case .later(let due) = plan.open(at: now) else { break }
            #expect(due - now <= .seconds(1))
            #expect(due > now)
            now = due
        }
        #expect(plan.failures == 3)
    }

    @Test func `One that ends in order after an answer is replaced at once, however often`() {
        var plan = plan()
        for _ in 0..<100 {
            guard let id = open(&plan, streams: 5) else { return #expect(Bool(false), "none is opened") }
            plan.answered(on: id, .accepted)
            plan.goingAway(id, isInOrder: true)
            _ = plan.closed(id, at: Self.now, random: 1)
        }
        #expect(plan.failures == 0)
    }

    @Test(arguments: [(false, true), (true, false)])
    func `One that ends with an error, or without an answer, is a failure`(isInOrder: Bool, isAnswered: Bool) throws {
        var plan = plan()
        let id = try #require(open(&plan, streams: 5))
        if isAnswered { plan.answered(on: id, .accepted) }
        plan.goingAway(id, isInOrder: isInOrder)
        _ = plan.closed(id, at: Self.now, random: 1)
        #expect(plan.failures == 1)
    }

    @Test func `The delays of a gateway are a second at most`() {
        var limits = ConnectionPlan.Limits()
        limits.delays = .connectingForOthers
        var plan = ConnectionPlan(usesTokens: true, limits: limits)
        var now = Self.now
        for _ in 0..<20 {
            guard case .open(let id) = plan.open(at: now) else { return #expect(Bool(false), "none is opened") }
            _ = plan.closed(id, at: now, random: 1)
            guard case .later(let due) = plan.open(at: now) else { return #expect(Bool(false), "no delay") }
            #expect(due - now <= .seconds(1))
            now = due
        }
    }

    // MARK: Suspect connections

    @Test func `A suspect connection takes nothing, and another takes its place when it is due`() {
        var plan = plan(connections: 1)
        _ = open(&plan, streams: 5)
        plan.suspect(1, replaceFrom: Self.now + .seconds(1))
        #expect(plan.assignRequest(at: Self.now) == nil && !plan.hasOpen)
        #expect(plan.open(at: Self.now) == .later(Self.now + .seconds(1)))
        #expect(plan.open(at: Self.now + .seconds(1)) == .open(2))
        plan.suspect(1, replaceFrom: nil)
        #expect(plan.assignRequest(at: Self.now) == 1)
    }

    @Test func `A first request that hangs keeps no other back`() {
        var plan = plan(usesTokens: true)
        _ = open(&plan, streams: 10)
        #expect(plan.assignRequest(at: Self.now) == 1)
        #expect(plan.open(at: Self.now) == .later(Self.now + .seconds(1)))
        #expect(plan.open(at: Self.now + .seconds(1)) == .open(2))
        // When it is over, the connection is waited for as any other.
        plan.ended(on: 1)
        #expect(plan.assignRequest(at: Self.now + .seconds(2)) == 1)
    }

    @Test func `One that took long to open and failed has not lasted`() {
        var plan = plan()
        guard case .open(let id) = plan.open(at: Self.now) else { return #expect(Bool(false)) }
        let later = Self.now + .minutes(10)
        _ = plan.closed(id, at: later, random: 1)
        #expect(plan.open(at: later) == .later(later + .milliseconds(200)))
    }

    @Test func `One that lasted is replaced at once`() throws {
        var plan = plan()
        let id = try #require(open(&plan, streams: 5))
        let later = Self.now + .minutes(10)
        _ = plan.closed(id, at: later, random: 1)
        #expect(plan.open(at: later) == .open(2))
    }

    // MARK: Credentials

    @Test func `While credentials are replaced nothing is sent or opened`() throws {
        var plan = plan()
        let id = try #require(open(&plan, streams: 5))
        let isNone = plan.beginReplacement()
        #expect(!isNone)
        #expect(plan.assignRequest(at: Self.now) == nil)
        #expect(plan.open(at: Self.now) == .none)
        let isLast = plan.closed(id, at: Self.now, random: 1)
        #expect(isLast)
        plan.endReplacement(usesTokens: true)
        #expect(plan.open(at: Self.now) == .open(2))
        #expect(plan[2]?.isAuthenticated == false)
    }

    @Test func `Without connections they are replaced at once`() {
        var plan = plan()
        let isNone = plan.beginReplacement()
        #expect(isNone)
    }

    @Test func `What is told of a connection that is gone is passed over`() {
        var plan = plan()
        plan.announced(5, on: 9)
        plan.answered(on: 9, .accepted)
        plan.ended(on: 9)
        plan.leave(9)
        let isLast = plan.closed(9, at: Self.now, random: 1)
        #expect(!isLast)
        #expect(plan.connections.isEmpty)
    }

    @Test func `A service is unreachable if nothing is open and an attempt takes too long`() throws {
        var plan = plan()
        #expect(plan.isUnreachable(at: Self.now))
        _ = plan.open(at: Self.now)
        let late = Self.now + ConnectionPlan.attemptPatience
        #expect(!plan.isUnreachable(at: late - .nanoseconds(1)) && plan.isUnreachable(at: late))
        plan.announced(5, on: 1)
        #expect(!plan.isUnreachable(at: late))
        plan.suspect(1, replaceFrom: late)
        #expect(plan.isUnreachable(at: late))
        _ = plan.beginReplacement()
        #expect(!plan.isUnreachable(at: late))
    }
}
