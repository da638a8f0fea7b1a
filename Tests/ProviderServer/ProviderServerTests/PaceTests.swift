import Notifications
import Testing

@testable import ProviderServer

struct PaceTests {
    @Test(arguments: [1, 3, 10, 25, 1000] as [Int64])
    func `No second has more than the rate, and it is used up`(_ rate: Int64) {
        var pace = Pace()
        var now: UInt64 = 1_000_000
        var counts: [UInt64: Int64] = [:]
        while now < 1_005_000 {
            if let wait = pace.wait(rate, now: Timestamp(milliseconds: now)) {
                #expect(wait > .zero && wait <= .seconds(1))
                now += UInt64(
                    max(1, wait.components.attoseconds / 1_000_000_000_000_000 + wait.components.seconds * 1000))
            } else {
                counts[(now - 1_000_000) / 1000, default: 0] += 1
            }
        }
        #expect(counts.count == 5 && counts.values.allSatisfy { $0 == rate })
    }

    @Test func `Without a rate nobody waits`() {
        var pace = Pace()
        for _ in 0..<1000 { #expect(pace.wait(nil, now: Timestamp(milliseconds: 0)) == nil) }
    }
}
