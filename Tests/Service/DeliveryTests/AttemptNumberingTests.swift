import Delivery
import Notifications
import SQLiteStore
import Storage
import Synchronization
import Testing

@Suite("The numbers of delivery attempts over several starts", .timeLimit(.minutes(1)))
struct AttemptNumberingTests {
    /// A store of marks in memory. It fails if the test wants it to.
    private final class Numbers: AttemptNumbers {
        let memory: SQLiteStore
        let isFull = Mutex(false)
        let attempts = Recorder<AttemptMark>()

        init() throws { memory = try .inMemory() }

        func attemptMark() async throws(StoreError) -> AttemptMark? { try await memory.attemptMark() }

        func keep(_ mark: AttemptMark) async throws(StoreError) {
            attempts.record(mark)
            guard isFull.withLock({ !$0 }) else { throw StoreError(.unavailable, "The disk is full.") }
            try await memory.keep(mark)
        }
    }

    private let numbers: Numbers
    private let clock = SettableClock()

    init() throws { numbers = try Numbers() }

    /// Starts a service's switchboard, connects a device once or more, and returns the numbers of the attempts that
    /// it gets.
    private func start(connections: Int = 1) async throws -> [UInt64] {
        let clock = self.clock
        let switchboard = LocalSwitchboard(
            mailboxes: try SQLiteStore.inMemory(), numbering: try await .load(from: numbers), clock: { clock.now })
        var sent: [UInt64] = []
        for _ in 0..<connections {
            let stream = RecordingStream()
            switchboard.attach(stream, of: Example.device)
            for number in 1...2 as ClosedRange<UInt64> {
                _ = switchboard.offer(
                    Offer(id: nil, destination: Example.destination(), notification: Example.notification(number)))
            }
            sent += await stream.attempts.first(2).map(\.number)
        }
        return sent
    }

    private func expectGrowing(_ sent: [UInt64], sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(zip(sent, sent.dropFirst()).allSatisfy { $0 < $1 }, "\(sent)", sourceLocation: sourceLocation)
        #expect(sent.allSatisfy { $0 < AttemptMark.maximum }, sourceLocation: sourceLocation)
    }

    @Test
    func `A start with a clock that is 22 hours behind uses greater numbers than the start before`() async throws {
        var sent = try await start()
        clock.setBack(by: .seconds(22 * 3600))
        sent += try await start(connections: 3)
        clock.setBack(by: .seconds(22 * 3600))
        sent += try await start()
        clock.advance(by: .seconds(1))
        sent += try await start()
        expectGrowing(sent)
    }

    @Test
    func `If the clock was set back while the service ran, the next start still uses greater numbers`() async throws {
        let clock = self.clock
        let switchboard = LocalSwitchboard(
            mailboxes: try SQLiteStore.inMemory(), numbering: try await .load(from: numbers), clock: { clock.now })
        var sent: [UInt64] = []
        for _ in 0..<2 {
            let stream = RecordingStream()
            switchboard.attach(stream, of: Example.device)
            _ = switchboard.offer(
                Offer(id: nil, destination: Example.destination(), notification: Example.notification(1)))
            sent += await stream.attempts.first(1).map(\.number)
            clock.setBack(by: .seconds(22 * 3600))
        }
        sent += try await start()
        expectGrowing(sent)
    }

    @Test
    func `Nothing is sent before the store has a bound`() async throws {
        let sent = try await start()
        let kept = try #require(try await numbers.attemptMark())
        #expect(sent.allSatisfy { $0 < kept.bound })
        #expect(kept.time == Example.moment)
    }

    @Test
    func `One bound suffices for many connections, so they need no writes`() async throws {
        _ = try await start(connections: 100)
        #expect(numbers.attempts.values.count == 1)
        // Half of the reservation is used up.
        clock.advance(by: .seconds(301))
        _ = try await start(connections: 100)
        #expect(numbers.attempts.values.count == 2)
    }

    @Test
    func `A store that cannot write delays nobody, and numbers grow with the clock from start to start`() async throws {
        var sent = try await start()
        numbers.isFull.withLock { $0 = true }
        for _ in 0..<3 {
            clock.advance(by: .seconds(1))
            sent += try await start(connections: 2)
        }
        numbers.isFull.withLock { $0 = false }
        clock.advance(by: .seconds(1))
        sent += try await start()
        expectGrowing(sent)
    }

    @Test
    func `With a clock far in the future the numbers still fit into JSON`() async throws {
        // The numbers of the year 2200 are still below 2^53.
        clock.advance(by: .seconds(170 * 365 * 86_400))
        var sent = try await start()
        clock.setBack(by: .seconds(170 * 365 * 86_400))
        sent += try await start()
        expectGrowing(sent)
    }

    @Test
    func `A bound that only damage can explain is ignored`() {
        #expect(AttemptMark(bound: AttemptMark.maximum, time: Example.moment) != nil)
        #expect(AttemptMark(bound: AttemptMark.maximum + 1, time: Example.moment) == nil)
        #expect(AttemptMark(bound: .max, time: Example.moment) == nil)
    }
}
