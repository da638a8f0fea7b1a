import CommonTesting
import Delivery
import DeliveryLogFiles
import Foundation
import SQLiteStore
import Notifications
import Synchronization
import Testing

@Suite("The delivery log's files", .timeLimit(.minutes(1)))
struct FileDeliveryLogTests {
    private static func log(
        _ folder: String,
        limits: DeliveryLogLimits = DeliveryLogLimits(),
        clock: SettableClock = SettableClock(),
        report: @escaping @Sendable (FileDeliveryLog.WriteSummary) -> Void = { _ in },
    ) throws -> FileDeliveryLog {
        try FileDeliveryLog(folder: folder, limits: limits, clock: { clock.now }, report: report)
    }

    @Test
    func `Recorded events are read in order, while the log is open`() async throws {
        try await withTemporaryPath { folder in
            let log = try Self.log(folder)
            let events = Example.steps.enumerated().map { Example.event(UInt64($0), $1) }
            for event in events { log.record(event) }
            await log.flush()
            #expect(try records(folder) == events.map { .event($0, tokenKey: 0) })
        }
    }

    @Test
    func `A reader gets the events that were written since its last read`() async throws {
        try await withTemporaryPath { folder in
            var reader = DeliveryLogReader(folder: folder)
            try reader.read { _ in Issue.record("there is no folder") }
            let log = try Self.log(folder)
            for number in 1...3 as ClosedRange<UInt64> {
                log.record(Example.event(number))
                await log.flush()
                var read: [LogRecord] = []
                try reader.read { read.append($0) }
                #expect(read == [.event(Example.event(number), tokenKey: 0)])
            }
        }
    }

    @Test(arguments: [1, 3, 4, 100])
    func `A read has a limit, and the next one goes on in the same block`(_ limit: Int) async throws {
        try await withTemporaryPath { folder in
            let log = try Self.log(folder)
            // Two blocks, each of several events.
            for numbers in [1...7, 8...12] as [ClosedRange<UInt64>] {
                for number in numbers { log.record(Example.event(number)) }
                await log.flush()
            }
            var reader = DeliveryLogReader(folder: folder)
            var read: [LogRecord] = []
            var positions: [LogPosition] = []
            while true {
                let page = try reader.next(atMost: limit)
                guard !page.isEmpty else { break }
                #expect(page.count <= limit)
                read += page.map(\.record)
                positions += page.map(\.position)
            }
            #expect(read == (1...12).map { .event(Example.event($0), tokenKey: 0) })
            #expect(Set(positions).count == 12)
        }
    }

    @Test
    func `Recorded events are written without a further call`() async throws {
        try await withTemporaryPath { folder in
            await confirmation { confirmation in
                await withCheckedContinuation { continuation in
                    do {
                        let log = try Self.log(folder) { _ in
                            confirmation()
                            continuation.resume()
                        }
                        log.record(Example.event(1))
                    } catch {
                        continuation.resume()
                    }
                }
            }
            let written = try numbers(folder)
            #expect(written == [1])
        }
    }

    @Test(arguments: [1, 15, 40])
    func `A block that a crash cut off is skipped, and what the next start writes is read`(bytes: Int) async throws {
        try await withTemporaryPath { folder in
            for number in 1...2 as ClosedRange<UInt64> {
                let log = try Self.log(folder)
                log.record(Example.event(number))
                await log.flush()
            }
            let first = folder + "/" + (try #require(try segments(folder).first))
            let whole = try Data(contentsOf: URL(fileURLWithPath: first))
            try (whole + whole.prefix(bytes)).write(to: URL(fileURLWithPath: first))
            #expect(try numbers(folder) == [1, 2])
            try (whole.dropLast(bytes)).write(to: URL(fileURLWithPath: first))
            #expect(try numbers(folder) == [2])
        }
    }

    @Test
    func `If an event lacks the token's generation and key, they are looked up`() async throws {
        try await withTemporaryPath { folder in
            let store = try SQLiteStore.inMemory()
            _ = try await store.register(Example.destination, tokenKeyID: 5, at: Example.moment)
            let log = try Self.log(folder)
            log.findTokens(in: store)
            log.record(Example.event(1, generation: 0))
            log.record(Example.event(2, generation: 9))
            await log.flush()
            #expect(
                try records(folder) == [
                    .event(Example.event(1, generation: 1), tokenKey: 5),
                    .event(Example.event(2, generation: 9), tokenKey: 5),
                ])
        }
    }

    // MARK: Bounds

    @Test
    func `If too many events wait, some are lost, and the log says how many`() async throws {
        try await withTemporaryPath { folder in
            var limits = DeliveryLogLimits()
            limits.pendingEvents = 16
            let losses = Mutex<UInt64>(0)
            let log = try Self.log(folder, limits: limits) { report in losses.withLock { $0 += report.losses } }
            // Record faster than the log's thread can write. If it does keep up, no event is lost, which is correct
            // too.
            for number in 1...100_000 as ClosedRange<UInt64> { log.record(Example.event(number)) }
            await log.flush()
            let all = try records(folder)
            let lost = all.reduce(UInt64(0)) { sum, record in
                if case .lost(let count, _) = record { sum + count } else { sum }
            }
            let written = try numbers(folder)
            #expect(lost > 0)
            #expect(UInt64(written.count) + lost == 100_000)
            #expect(losses.withLock { $0 } == lost)
            #expect(written == written.sorted())
        }
    }

    @Test
    func `The log keeps its maximum size, with the newest events`() async throws {
        try await withTemporaryPath { folder in
            var limits = DeliveryLogLimits()
            limits.totalBytes = 1 << 20
            let log = try Self.log(folder, limits: limits)
            for number in 1...60_000 as ClosedRange<UInt64> {
                log.record(Example.event(number))
                if number % 1000 == 0 { await log.flush() }
            }
            let bytes = try segments(folder).reduce(0) { sum, name in
                sum + (try FileManager.default.attributesOfItem(atPath: folder + "/" + name)[.size] as? Int ?? 0)
            }
            // The file that is being written may exceed the limit by one block.
            #expect(bytes <= limits.totalBytes + 200_000)
            #expect(bytes > limits.totalBytes / 2)
            let written = try numbers(folder)
            #expect(written.last == 60_000)
            #expect(written == Array((60_001 - UInt64(written.count))...60_000))
        }
    }

    @Test
    func `Events older than the retention are removed`() async throws {
        try await withTemporaryPath { folder in
            let clock = SettableClock()
            let log = try Self.log(folder, clock: clock)
            for day in 1...20 as ClosedRange<UInt64> {
                log.record(Example.event(day))
                await log.flush()
                clock.advance(by: .seconds(24 * 60 * 60))
            }
            log.record(Example.event(21))
            await log.flush()
            // The retention is seven days. The file of the 13th was removed when the one of the 14th became that old.
            #expect(try numbers(folder) == Array(14...21))
        }
    }

    @Test
    func `Files that do not belong to the log are not touched`() async throws {
        try await withTemporaryPath { folder in
            let log = try Self.log(folder)
            for name in ["notes.log", "0000000000000001.log.gz", "abc"] {
                try "mine".write(toFile: folder + "/" + name, atomically: true, encoding: .utf8)
            }
            log.record(Example.event(1))
            await log.flush()
            #expect(try numbers(folder) == [1])
            #expect(try segments(folder).count == 4)
        }
    }

    @Test
    func `While the log cannot be written, no event counts as written; afterwards the losses are recorded`()
        async throws
    {
        try await withTemporaryPath { folder in
            let failures = Mutex<[UInt64]>([])
            let log = try Self.log(folder) { report in
                if report.failure != nil { failures.withLock { $0.append(report.losses) } }
            }
            // A missing folder makes writing fail, even for root.
            try FileManager.default.removeItem(atPath: folder)
            for number in 1...3 as ClosedRange<UInt64> { log.record(Example.event(number)) }
            await log.flush()
            #expect(failures.withLock { $0 } == [3])
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            log.record(Example.event(4))
            await log.flush()
            #expect(try numbers(folder) == [4])
            #expect(try records(folder).contains(.lost(3, at: Example.moment)))
        }
    }

    @Test
    func `Only the owner may read the log`() async throws {
        try await withTemporaryPath { folder in
            let log = try Self.log(folder)
            log.record(Example.event(1))
            await log.flush()
            let files = try segments(folder).map { folder + "/" + $0 } + [folder]
            for file in files {
                let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
                #expect(try #require(mode) & 0o077 == 0)
            }
        }
    }
}
