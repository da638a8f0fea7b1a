import Testing

@testable import PostgresClient

@Suite("The work that waits for a connection")
struct WaitingWorkTests {
    private func work(_ byteCount: Int) -> PostgresWork {
        .statements([PostgresStatement("SELECT $1", [.bytes([UInt8](repeating: 0, count: byteCount))])]) { _ in }
    }

    @Test
    func `The number and the bytes of waiting work are limited`() {
        var limits = PostgresLimits()
        limits.maximumWaiting = 3
        limits.maximumWaitingBytes = 100
        var waiting = WaitingWork()
        func hasRoom(for byteCount: Int) -> Bool { waiting.append(work(byteCount), within: limits) }
        func take() -> Int { waiting.removeFirst(within: limits).count }
        // A single waiting group may be larger.
        #expect(hasRoom(for: 1000))
        #expect(!hasRoom(for: 1))
        #expect(take() == 1)
        #expect(hasRoom(for: 60))
        #expect(!hasRoom(for: 41))
        #expect(hasRoom(for: 40))
        #expect(hasRoom(for: 0))
        #expect(!hasRoom(for: 0))
        let rest = waiting.removeAll()
        #expect(rest.count == 3)
        #expect(hasRoom(for: 100))
    }

    @Test
    func `The number and the bytes of work that is sent together are limited`() {
        var limits = PostgresLimits()
        limits.maximumPipelined = 3
        limits.maximumPipelinedBytes = 100
        var waiting = WaitingWork()
        for bytes in [60, 60, 10, 1, 1, 1, 1] {
            let hasRoom = waiting.append(work(bytes), within: limits)
            #expect(hasRoom)
        }
        var taken: [Int] = []
        for _ in 0..<4 { taken.append(waiting.removeFirst(within: limits).count) }
        #expect(taken == [2, 3, 2, 0])
    }
}
