import Rates
import Testing

struct RateBucketTests {
    private let second: UInt64 = 1_000_000_000

    @Test func `The burst is admitted at once, and not one more`() {
        var bucket = RateBucket()
        let rate = Rate(burst: 3, perSecond: 1)
        let admitted = (0..<5).map { _ in bucket.admits(rate, at: second) }
        #expect(admitted == [true, true, true, false, false])
    }

    @Test func `After the burst the rate is admitted`() {
        var bucket = RateBucket()
        let rate = Rate(burst: 2, perSecond: 10)
        #expect(bucket.admits(rate, at: 0) && bucket.admits(rate, at: 0))
        #expect(!bucket.admits(rate, at: second / 10 - 1))
        #expect(bucket.admits(rate, at: second / 10))
        #expect(!bucket.admits(rate, at: second / 10))
    }

    @Test func `What is refused does not count`() {
        var bucket = RateBucket()
        let rate = Rate(burst: 1, perSecond: 1)
        #expect(bucket.admits(rate, at: 0))
        for _ in 0..<100 { #expect(!bucket.admits(rate, at: 1)) }
        #expect(bucket.admits(rate, at: second))
    }

    @Test func `A rate of 0 switches the limit off`() {
        var bucket = RateBucket()
        for _ in 0..<10_000 { #expect(bucket.admits(.off, at: 0)) }
    }

    @Test func `A weight of two counts double`() {
        var bucket = RateBucket()
        let rate = Rate(burst: 4, perSecond: 1)
        #expect(bucket.admits(rate, at: 0, weight: 2) && bucket.admits(rate, at: 0, weight: 2))
        #expect(!bucket.admits(rate, at: 0))
    }

    @Test func `A clock that goes back admits no more than one that stands still`() {
        var bucket = RateBucket()
        let rate = Rate(burst: 1, perSecond: 1)
        #expect(bucket.admits(rate, at: 10 * second))
        #expect(!bucket.admits(rate, at: 5 * second))
    }

    @Test func `The slowest rates and the latest times do not overflow`() {
        var bucket = RateBucket()
        let rate = Rate(burst: .max, perSecond: 1e-12)
        #expect(bucket.admits(rate, at: 0, weight: .max) == false)
        #expect(bucket.admits(rate, at: .max) == false)
    }
}

struct RateTableTests {
    @Test func `Each key has its own bucket`() {
        var table = RateTable<Int>(Rate(burst: 1, perSecond: 1))
        #expect(table.admits(1, at: 0) && table.admits(2, at: 0))
        #expect(!table.admits(1, at: 0))
    }

    @Test func `Keys that no longer count are forgotten`() {
        var table = RateTable<Int>(Rate(burst: 1, perSecond: 1000))
        for key in 0..<100_000 { _ = table.admits(key, at: UInt64(key) * 1_000_000) }
        #expect(table.count <= 2048)
    }
}
