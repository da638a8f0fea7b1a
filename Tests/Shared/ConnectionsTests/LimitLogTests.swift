import Connections
import InMemoryLogging
import Logging
import Rates
import Synchronization
import Testing

@Suite struct LimitLogTests {
    private static let one = Limit("one")

    @Test func `Each time is counted and the first are logged`() {
        let messages = InMemoryLogHandler()
        let counts = Mutex<[Limit: Int]>([:])
        let log = LimitLog(Logger(label: "test") { _ in messages }) { limit in
            counts.withLock { $0[limit, default: 0] += 1 }
        }
        for _ in 0..<1000 { log.limitExceeded(Self.one, peer: "192.0.2.1") }
        log.limitExceeded(.handshakeTimeout)
        #expect(counts.withLock { $0 } == [Self.one: 1000, .handshakeTimeout: 1])
        let first = messages.entries.first?.metadata
        #expect(first?["limit"] == "one" && first?["peer"] == "192.0.2.1")
        // Five lines for the first limit and one for the second; on a slow machine there may be more.
        #expect((6..<500).contains(messages.entries.count))
    }
}
