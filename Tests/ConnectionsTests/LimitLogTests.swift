import Connections
import Logging
import Rates
import Synchronization
import Testing

@Suite struct LimitLogTests {
    private static let one = Limit("one")

    /// Counts messages, and keeps the first.
    private final class Messages: LogHandler {
        private struct State {
            var count = 0
            var first: Logger.Metadata?
        }

        private let state = Mutex(State())

        var metadata: Logger.Metadata {
            get { [:] }
            set {}
        }
        var logLevel: Logger.Level {
            get { .info }
            set {}
        }
        var count: Int { state.withLock { $0.count } }
        var first: Logger.Metadata? { state.withLock { $0.first } }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { nil }
            set {}
        }

        func log(event: LogEvent) {
            state.withLock { state in
                state.count += 1
                state.first = state.first ?? event.metadata
            }
        }
    }

    @Test func eachTimeIsCountedAndTheFirstAreLogged() {
        let messages = Messages()
        let counts = Mutex<[Limit: Int]>([:])
        let log = LimitLog(Logger(label: "test") { _ in messages }) { limit in
            counts.withLock { $0[limit, default: 0] += 1 }
        }
        for _ in 0..<1000 { log.limitExceeded(Self.one, peer: "192.0.2.1") }
        log.limitExceeded(.handshakeTimeout)
        #expect(counts.withLock { $0 } == [Self.one: 1000, .handshakeTimeout: 1])
        #expect(messages.first?["limit"] == "one" && messages.first?["peer"] == "192.0.2.1")
        // Five of the one, one of the other; a slow machine may see a few more.
        #expect((6..<500).contains(messages.count))
    }
}
