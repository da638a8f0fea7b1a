import CommonTesting
import Testing

@testable import PostgresStore

@Suite("What a node knows of PostgreSQL's clock")
struct DatabaseClockTests {
    private let start = ContinuousClock.now

    private func after(_ milliseconds: Int) -> ContinuousClock.Instant {
        start.advanced(by: .milliseconds(milliseconds))
    }

    private func reading(
        _ time: Int64, sent: Int, received: Int, server: Int64 = 1,
    ) -> DatabaseClock.Reading {
        DatabaseClock.Reading(server: server, time: time, sent: after(sent), received: after(received))
    }

    @Test
    func `A clock that was not measured has no time`() {
        #expect(DatabaseClock().latest(at: start) == nil)
    }

    @Test
    func `The time is the latest that is possible, and the best reading counts`() throws {
        var clock = DatabaseClock()
        clock.record(reading(5_000_000, sent: 0, received: 30))
        // It may have been read when the statement was sent.
        let loose = try #require(clock.latest(at: after(100)))
        #expect(loose.server == 1)
        #expect((5_100_000...5_100_200).contains(loose.time))
        clock.record(reading(5_040_000, sent: 50, received: 51))
        let tight = try #require(clock.latest(at: after(100)))
        #expect((5_090_000...5_090_200).contains(tight.time))
        // A reading that took long says less.
        clock.record(reading(5_090_000, sent: 60, received: 5000))
        #expect(clock.latest(at: after(100)) == tight)
        #expect(clock.changes == 0)
        // Also before the readings.
        #expect((4_890_000...4_890_500).contains(try #require(clock.latest(at: after(-100))).time))
    }

    @Test
    func `Without readings the error grows with the time, by as much as clocks may differ in their rates`() throws {
        var clock = DatabaseClock()
        clock.record(reading(0, sent: 0, received: 0))
        let later = try #require(clock.latest(at: after(60_000)))
        #expect((60_060_000...60_060_001).contains(later.time))
        let earlier = try #require(clock.latest(at: after(-60_000)))
        #expect((-59_940_000...(-59_939_999)).contains(earlier.time))
    }

    /// - Parameter ahead: how far the clock of the new primary is ahead.
    @Test(arguments: [-5_000_000, 5_000_000] as [Int64])
    func `After a failover no time counts that the clock before may have given`(ahead: Int64) throws {
        var clock = DatabaseClock()
        clock.record(reading(10_000_000, sent: 0, received: 1))
        clock.record(reading(11_000_000 + ahead, sent: 1000, received: 1001, server: 2))
        #expect(clock.changes == 1)
        if ahead < 0 {
            #expect(clock.latest(at: after(1500)) == nil)
            #expect(clock.latest(at: after(5900)) == nil)
        } else {
            #expect(try #require(clock.latest(at: after(1500))).time >= 11_500_000 + ahead)
        }
        let moment = try #require(clock.latest(at: after(6500)))
        #expect(moment.server == 2)
        #expect(moment.time >= 16_500_000 + ahead && moment.time <= 16_510_000 + ahead)
    }

    @Test(arguments: [-3_600_000_000, 3_600_000_000] as [Int64])
    func `A clock that somebody has set is measured anew`(by step: Int64) throws {
        var clock = DatabaseClock()
        clock.record(reading(10_000_000, sent: 0, received: 1))
        clock.record(reading(11_000_000 + step, sent: 1000, received: 1001))
        #expect(clock.changes == 1)
        if step < 0 {
            // Mailboxes may have versions of the hour that comes again.
            #expect(clock.latest(at: after(2000)) == nil)
        } else {
            #expect(try #require(clock.latest(at: after(2000))).time >= 12_000_000 + step)
        }
    }

    @Test
    func `Times at the ends of their range do not end the process`() {
        var clock = DatabaseClock()
        clock.record(reading(.max, sent: 0, received: 0))
        #expect(clock.latest(at: after(1000))?.time == .max)
        clock.record(reading(.min, sent: 0, received: 0))
        #expect(clock.latest(at: after(-1000)) == nil)
    }

    /// The true time is never later than the one that is known, and the difference is at most the shortest way to the server.
    @Test(arguments: 1...50 as ClosedRange<UInt64>)
    func `Whatever the delays and the rates are, the time is never too early`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        // Microseconds of this machine, and how much faster the server's clock runs, in parts per million.
        let rate = Int64.random(in: -900...900, using: &random)
        let offset = Int64.random(in: -10_000_000...10_000_000, using: &random)
        func time(at local: Int64) -> Int64 { local + local * rate / 1_000_000 + offset }
        func instant(_ local: Int64) -> ContinuousClock.Instant { start.advanced(by: .microseconds(local)) }
        var clock = DatabaseClock()
        var local: Int64 = 0
        var lastSent: Int64 = 0
        for _ in 0..<200 {
            let there = Int64.random(in: 100...(Bool.random(using: &random) ? 500 : 3_000_000), using: &random)
            let back = Int64.random(in: 100...3_000_000, using: &random)
            clock.record(
                DatabaseClock.Reading(
                    server: 1, time: time(at: local + there), sent: instant(local),
                    received: instant(local + there + back)))
            lastSent = local
            local += there + back
            for accepted in [lastSent - 5_000_000, lastSent, local, local + 5_000_000] {
                let latest = try #require(clock.latest(at: instant(accepted))).time
                #expect(latest >= time(at: accepted))
            }
            local += Int64.random(in: 0...1_000_000, using: &random)
        }
        #expect(clock.changes == 0)
        clock.record(
            DatabaseClock.Reading(
                server: 1, time: time(at: local + 200), sent: instant(local), received: instant(local + 400)))
        let latest = try #require(clock.latest(at: instant(local + 1_000_000))).time
        #expect(latest - time(at: local + 1_000_000) <= 200 + 2000)
    }
}
