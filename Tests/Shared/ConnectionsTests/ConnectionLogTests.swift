import InMemoryLogging
import Logging
import NIOCore
import Synchronization
import Testing

@testable import Connections

@Suite struct ConnectionLogTests {
    @Test func `What strangers cause is logged now and then`() {
        let lines = InMemoryLogHandler()
        let log = ConnectionLog(Logger(label: "test") { _ in lines })
        let causes = Mutex(0)
        for _ in 0..<1000 {
            log.report("A TLS handshake failed", peer: nil) {
                causes.withLock { $0 += 1 }
                return String(repeating: "x", count: 10_000)
            }
        }
        // Each kind of line is counted separately.
        log.report("A client certificate was refused", peer: nil) { "" }
        // Five lines of the first kind and one of the second; on a slow machine there may be more.
        #expect((6..<500).contains(lines.entries.count))
        #expect(causes.withLock { $0 } == lines.entries.count - 1)
        #expect(lines.entries.allSatisfy { "\($0.metadata["cause"] ?? "")".utf8.count <= 500 })
    }

    @Test func `Lines that were left out are counted`() {
        var rates = LineRates<String>()
        let second: UInt64 = 1_000_000_000
        for _ in 0..<5 { #expect(rates.admit("a", at: second) == 0) }
        for _ in 0..<100 { #expect(rates.admit("a", at: second) == nil) }
        #expect(rates.admit("b", at: second) == 0)
        #expect(rates.admit("a", at: 6 * second) == 100)
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"), ("2001:db8::A", "2001:db8::a"), ("::1", "::1"),
    ])
    func `An address has one form`(_ address: String, _ form: String) throws {
        #expect(try SocketAddress(ipAddress: address, port: 1234).host == form)
    }
}
