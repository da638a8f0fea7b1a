import Rates
import Testing

struct RateBucketTests {
    private static let second: UInt64 = 1_000_000_000

    /// Returns which events at these times a new bucket admits.
    private func admissions(_ rate: Rate, at times: [UInt64], weight: UInt64 = 1) -> [Bool] {
        var bucket = RateBucket()
        return times.map { bucket.admits(rate, at: $0, weight: weight) }
    }

    @Test func `A whole burst is allowed at once, and not one event more`() {
        let times = Array(repeating: Self.second, count: 5)
        #expect(admissions(Rate(burst: 3, perSecond: 1), at: times) == [true, true, true, false, false])
    }

    @Test func `After the burst, events are allowed at the rate`() {
        let tenth = Self.second / 10
        let times = [0, 0, tenth - 1, tenth, tenth]
        #expect(admissions(Rate(burst: 2, perSecond: 10), at: times) == [true, true, false, true, false])
    }

    @Test func `Events that are refused do not count`() {
        let times = [0, 1, 2, 3, Self.second]
        #expect(admissions(Rate(burst: 1, perSecond: 1), at: times) == [true, false, false, false, true])
    }

    @Test func `A rate of 0 switches the limit off`() {
        #expect(admissions(.unlimited, at: Array(repeating: 0, count: 1000)).allSatisfy { $0 })
    }

    @Test func `An event with weight two counts twice`() {
        #expect(admissions(Rate(burst: 4, perSecond: 1), at: [0, 0, 0], weight: 2) == [true, true, false])
    }

    @Test func `A clock that goes back allows no more events than one that stands still`() {
        let times = [10 * Self.second, 5 * Self.second]
        #expect(admissions(Rate(burst: 1, perSecond: 1), at: times) == [true, false])
    }

    @Test func `Events that are given back make room, up to the burst`() {
        var bucket = RateBucket()
        let rate = Rate(burst: 2, perSecond: 1)
        let before = (0..<2).map { _ in bucket.admits(rate, at: 0) }
        bucket.earn(rate, events: 100)
        let after = (0..<3).map { _ in bucket.admits(rate, at: 0) }
        #expect(before == [true, true] && after == [true, true, false])
    }

    @Test func `The slowest rates and the latest times do not overflow`() {
        let rate = Rate(burst: .max, perSecond: 1e-12)
        #expect(admissions(rate, at: [0, .max], weight: .max) == [false, false])
    }
}

struct RateTableTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func `Each key has its own bucket`() {
        var table = RateTable<Int>(Rate(burst: 1, perSecond: 1))
        let admitted = [1, 2, 1].map { table.admits($0, at: 0) }
        #expect(admitted == [true, true, false])
    }

    @Test func `Buckets that are empty are removed`() {
        var table = RateTable<Int>(Rate(burst: 1, perSecond: 1000))
        for key in 0..<100_000 { _ = table.admits(key, at: UInt64(key) * 1_000_000) }
        #expect(table.count <= 2048)
    }

    @Test func `Time that passes for some keys only makes their events older`() {
        var table = RateTable<Int>(Rate(burst: 1, perSecond: 1))
        let now = 100 * Self.second
        for key in 1...2 { _ = table.admits(key, at: now) }
        table.age(by: Self.second) { $0 == 1 }
        let admitted = (1...2).map { table.admits($0, at: now) }
        #expect(admitted == [true, false])
        table.age(by: .max) { _ in true }
        let all = (1...2).map { table.admits($0, at: now) }
        #expect(all == [true, true])
    }
}
