import Notifications
import Testing

@testable import MemoryStore

@Suite("The queue of expirations")
struct ExpiryQueueTests {
    private static func moment(_ milliseconds: UInt64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

    @Test
    func `The earliest expiration comes first, and not before its time`() {
        var queue = ExpiryQueue<Int>()
        for number in [3, 1, 2] { queue.insert(number, expires: Self.moment(UInt64(number))) }
        #expect(queue.popFirst(before: Self.moment(1)) == nil)
        var popped: [Int] = []
        while let next = queue.popFirst(before: Self.moment(3)) { popped.append(next) }
        #expect(popped == [1, 2])
    }

    @Test
    func `The queue reports when most entries are stale`() {
        var queue = ExpiryQueue<Int>()
        for number in 0..<(ExpiryQueue<Int>.toleratedStale + 2) { queue.insert(number, expires: Self.moment(1)) }
        #expect(!queue.isMostlyStale(live: 1))
        queue.insert(0, expires: Self.moment(1))
        #expect(queue.isMostlyStale(live: 1))
    }
}
