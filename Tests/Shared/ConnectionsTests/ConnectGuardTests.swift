import NIOCore
import Rates
import Testing

@testable import Connections

@Suite struct ConnectGuardTests {
    private let now = NIODeadline.uptimeNanoseconds(1_000_000_000)

    private func address(_ text: String) throws -> PeerAddress {
        try #require(PeerAddress(try SocketAddress(ipAddress: text, port: 1)))
    }

    @Test func `The budget of the process is shared and given back`() throws {
        let budget = ConnectionBudget(limit: 1)
        let one = ConnectGuard(Limit("connect-rate"), .off, budget: budget)
        let other = ConnectGuard(Limit("connect-rate"), .off, budget: budget)
        let peer = try address("192.0.2.1")
        #expect(one.admit(peer, at: now) == .admitted)
        #expect(other.admit(peer, at: now) == .outOfFiles)
        one.closed(peer)
        #expect(other.admit(peer, at: now) == .admitted)
    }

    @Test func `An address may have so many open`() throws {
        let limits = ConnectLimits(connects: .unlimited, open: 1)
        let guardian = ConnectGuard(Limit("connect-rate"), limits, budget: ConnectionBudget(limit: 10))
        let (one, other) = (try address("192.0.2.1"), try address("192.0.2.2"))
        #expect(guardian.admit(one, at: now) == .admitted)
        #expect(guardian.admit(one, at: now) == .tooManyOpen)
        #expect(guardian.admit(other, at: now) == .admitted)
    }

    @Test func `A suspects connects count double`() throws {
        let limits = ConnectLimits(connects: Rate(burst: 4, perSecond: 1), open: 0)
        let guardian = ConnectGuard(Limit("connect-rate"), limits, budget: ConnectionBudget(limit: 10))
        let peer = try address("192.0.2.1")
        guardian.suspect(peer, at: now)
        let verdicts = (0..<3).map { _ in guardian.admit(peer, at: now) }
        #expect(verdicts == [.admitted, .admitted, .tooManyConnects])
    }

    @Test func `If there are too many suspects, the oldest is forgotten`() throws {
        let limits = ConnectLimits(connects: Rate(burst: 4, perSecond: 1), open: 0)
        let guardian = ConnectGuard(Limit("connect-rate"), limits, budget: ConnectionBudget(limit: 10))
        let suspects = try (0...ConnectGuard.maximumSuspects).map { try address("10.0.\($0 / 256).\($0 % 256)") }
        for (index, suspect) in suspects.enumerated() {
            guardian.suspect(suspect, at: now + .nanoseconds(Int64(index)))
        }
        // One that is a suspect already takes nobody's place.
        let newest = suspects[suspects.count - 1]
        guardian.suspect(newest, at: now + .nanoseconds(Int64(suspects.count)))
        func isSuspect(_ address: PeerAddress) -> Bool {
            (0..<3).map { _ in guardian.admit(address, at: now) }.last == .tooManyConnects
        }
        #expect([suspects[0], suspects[1], newest].map(isSuspect) == [false, true, true])
    }

    @Test func `The addresses of one i pv 6 network are one`() throws {
        #expect(try address("2001:db8::1") == address("2001:db8::2:3"))
        #expect(try address("2001:db8::1") != address("2001:db8:0:1::1"))
    }

    @Test func `A mapped i pv 4 address is that address`() throws {
        #expect(try address("::ffff:192.0.2.1") == address("192.0.2.1"))
    }
}
