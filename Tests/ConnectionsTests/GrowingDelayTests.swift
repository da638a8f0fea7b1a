import Connections
import NIOCore
import Testing

@Suite("Delays between attempts")
struct GrowingDelayTests {
    private let delay = GrowingDelay(first: .milliseconds(100), longest: .seconds(1))

    @Test("delays grow up to the longest")
    func grow() {
        let delays = (1...8).map { delay.delay(afterFailures: $0, random: 1).nanoseconds / 1_000_000 }
        #expect(delays == [100, 200, 400, 800, 1_000, 1_000, 1_000, 1_000])
    }

    @Test("a random part takes away up to half")
    func chance() {
        #expect(delay.delay(afterFailures: 1, random: 0) == .milliseconds(50))
        #expect(delay.delay(afterFailures: 1, random: 0.5) == .milliseconds(75))
    }

    @Test("no number of attempts overflows", arguments: [0, -1, 63, 64, Int.max])
    func overflow(_ failures: Int) {
        let delay = GrowingDelay(first: .milliseconds(200), longest: .seconds(30)).delay(
            afterFailures: failures, random: 1)
        #expect(delay > .nanoseconds(0) && delay <= .seconds(30))
    }
}
