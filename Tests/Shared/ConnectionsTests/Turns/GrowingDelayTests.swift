import Connections
import NIOCore
import Testing

@Suite("Delays between attempts")
struct GrowingDelayTests {
    private let delay = GrowingDelay(first: .milliseconds(100), longest: .seconds(1))

    @Test
    func `Delays grow up to the longest`() {
        let delays = (1...8).map { delay.delay(afterFailures: $0, random: 1).nanoseconds / 1_000_000 }
        #expect(delays == [100, 200, 400, 800, 1_000, 1_000, 1_000, 1_000])
    }

    @Test
    func `A random part takes away up to half`() {
        #expect(delay.delay(afterFailures: 1, random: 0) == .milliseconds(50))
        #expect(delay.delay(afterFailures: 1, random: 0.5) == .milliseconds(75))
    }

    @Test(arguments: [0, -1, 63, 64, Int.max])
    func `No number of attempts overflows`(_ failures: Int) {
        let delay = GrowingDelay(first: .milliseconds(200), longest: .seconds(30)).delay(
            afterFailures: failures, random: 1)
        #expect(delay > .nanoseconds(0) && delay <= .seconds(30))
    }
}
