import Testing

@testable import PostgresClient

@Suite("The work that waits for a connection")
struct WaitingWorkTests {
    private func work(_ byteCount: Int) -> PostgresWork {
        .statements([PostgresStatement("SELECT $1", [.bytes([UInt8](repeating: 0, count: byteCount))])]) { _ in }
    }

    @Test("Its number and its bytes are limited")
    func limits() {
        var limits = PostgresLimits()
        limits.maximumWaiting = 3
        limits.maximumWaitingBytes = 100
        var waiting = WaitingWork()
        // A group that waits alone may have more.
        #expect(waiting.append(work(1000), within: limits))
        #expect(!waiting.append(work(1), within: limits))
        #expect(waiting.take(within: limits).count == 1)
        #expect(waiting.append(work(60), within: limits))
        #expect(!waiting.append(work(41), within: limits))
        #expect(waiting.append(work(40), within: limits))
        #expect(waiting.append(work(0), within: limits))
        #expect(!waiting.append(work(0), within: limits))
        #expect(waiting.takeAll().count == 3)
        #expect(waiting.append(work(100), within: limits))
    }

    @Test("So is what is sent together")
    func sending() {
        var limits = PostgresLimits()
        limits.maximumPipelined = 3
        limits.maximumPipelinedBytes = 100
        var waiting = WaitingWork()
        for bytes in [60, 60, 10, 1, 1, 1, 1] { #expect(waiting.append(work(bytes), within: limits)) }
        #expect(waiting.take(within: limits).count == 2)
        #expect(waiting.take(within: limits).count == 3)
        #expect(waiting.take(within: limits).count == 2)
        #expect(waiting.take(within: limits).isEmpty)
    }
}
