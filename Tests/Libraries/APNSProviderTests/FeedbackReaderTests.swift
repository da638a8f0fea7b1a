import Foundation
import NIOCore
import ProviderTesting
import Testing

@testable import APNSProvider

/// Reading the feedback service (Guide, 3.1.3), over real TLS. The integration tests use the real service.
@Suite(.timeLimit(.minutes(1))) struct FeedbackReaderTests {
    private static let time: UInt32 = 1_700_000_000

    /// An entry (Guide, Table A-5).
    private static func entry(_ token: DeviceToken, at time: UInt32 = time) throws -> [UInt8] {
        var buffer = ByteBuffer()
        let bytes = stride(from: 0, to: token.hexadecimal.utf8.count, by: 2).compactMap { offset in
            UInt8(token.hexadecimal.dropFirst(offset).prefix(2), radix: 16)
        }
        buffer.writeMultipleIntegers(time, UInt16(bytes.count))
        return buffer.readableBytesView + bytes
    }

    private static func reader(_ environment: APNSEnvironment) throws -> FeedbackReader {
        let made = try TestAuthority.providerCertificate()
        return FeedbackReader(
            environment: environment, credentials: try ProviderCredentials(certificate: made.chain + made.key))
    }

    @Test func `The list is read to its end`() async throws {
        let tokens = try (0..<3).map { try Sample.deviceToken($0) }
        try await RawServer.run(.saying(tokens.flatMap { try Self.entry($0) }, closes: true)) { environment in
            let items = try await Self.reader(environment).read()
            #expect(items.map(\.deviceToken) == tokens.map(\.hexadecimal))
            #expect(items.map(\.timestamp) == [Self.time, Self.time, Self.time])
        }
    }

    @Test func `An empty list is none`() async throws {
        try await RawServer.run(.saying([], closes: true)) { environment in
            let items = try await Self.reader(environment).read()
            #expect(items.isEmpty)
        }
    }

    @Test func `Half an entry is an error`() async throws {
        let bytes = try Self.entry(Sample.deviceToken()).dropLast()
        try await RawServer.run(.saying(Array(bytes), closes: true)) { environment in
            let reader = try Self.reader(environment)
            let error = await failure { () throws(ProviderError) in try await reader.read() }
            #expect(error?.code == .connectionLost)
        }
    }

    @Test func `A list that does not end is given up`() async throws {
        let bytes = try Self.entry(Sample.deviceToken())
        try await RawServer.run(.saying(bytes, closes: false)) { environment in
            let reader = try Self.reader(environment)
            let error = await failure { () throws(ProviderError) in
                try await reader.read(deadline: .milliseconds(50))
            }
            #expect(error?.code == .deadlineExceeded)
        }
    }

    @Test func `Who is cancelled reads no more`() async throws {
        try await RawServer.run(.silent) { environment in
            let reader = try Self.reader(environment)
            let reading = Task { await failure { () throws(ProviderError) in try await reader.read() } }
            reading.cancel()
            let error = await reading.value
            #expect(error?.code == .cancelled)
        }
    }

    @Test func `Nobody listens`() async throws {
        let reader = try Self.reader(APNSEnvironment(host: "127.0.0.1", port: 1))
        let error = await failure { () throws(ProviderError) in try await reader.read() }
        #expect(error?.code == .cannotConnect)
    }

    @Test func `A signing key does not do`() async throws {
        let reader = FeedbackReader(
            environment: APNSEnvironment(host: "127.0.0.1", port: 1), credentials: try TestAuthority.credentials())
        let error = await failure { () throws(ProviderError) in try await reader.read() }
        #expect(error?.code == .badCredentials)
    }

    // MARK: The record

    @Test func `What was registered before is forgotten and what was registered later is kept`() async throws {
        let (gone, back, unknown) = (
            try Sample.deviceToken(1), try Sample.deviceToken(2), try Sample.deviceToken(3)
        )
        let date = Date(timeIntervalSince1970: Double(Self.time))
        let record = InMemoryDeviceTokens()
        await record.register(gone, topic: Sample.topic, at: date - 60)
        await record.register(back, topic: Sample.topic, at: date + 60)
        let list = try [gone, back, unknown].flatMap { try Self.entry($0) }
        try await RawServer.run(.saying(list, closes: true)) { environment in
            let forgotten = try await Self.reader(environment).forgetInactive(in: record, topic: Sample.topic)
            #expect(forgotten.map(\.deviceToken) == [gone.hexadecimal])
            let left = await record.deviceTokens(for: Sample.topic)
            #expect(left == [back])
        }
    }

    // MARK: The schedule

    /// A clock that sleeps for as long as the test says.
    private struct SteppedClock: Clock {
        typealias Instant = ContinuousClock.Instant
        let slept: AsyncStream<Duration>.Continuation
        let step: AsyncStream<Void>
        var now: Instant { Self.start }
        var minimumResolution: Duration { .zero }
        private static let start = ContinuousClock.now

        func sleep(until deadline: Instant, tolerance: Duration?) async throws {
            slept.yield(deadline - now)
            for await _ in step { return }
            throw CancellationError()
        }
    }

    @Test func `The schedule reads now and then after a day until it is cancelled`() async throws {
        let gone = try Sample.deviceToken(1)
        let date = Date(timeIntervalSince1970: Double(Self.time))
        let record = InMemoryDeviceTokens()
        await record.register(gone, topic: Sample.topic, at: date - 60)
        let (sleeps, slept) = AsyncStream.makeStream(of: Duration.self)
        let (steps, step) = AsyncStream.makeStream(of: Void.self)
        let (reports, reported) = AsyncStream.makeStream(of: [FeedbackItem].self)
        try await RawServer.run(.saying(try Self.entry(gone), closes: true)) { environment in
            let schedule = FeedbackSchedule(
                try Self.reader(environment), in: record, topic: Sample.topic,
                clock: SteppedClock(slept: slept, step: steps)
            ) { reported.yield($0) }
            let running = Task { try await schedule.run() }
            var (readings, waits) = (reports.makeAsyncIterator(), sleeps.makeAsyncIterator())
            #expect(await readings.next()?.map(\.deviceToken) == [gone.hexadecimal])
            #expect(await waits.next() == .seconds(86_400))
            step.yield()
            // By now, the device token is no longer in the record.
            #expect(await readings.next()?.isEmpty == true)
            #expect(await waits.next() == .seconds(86_400))
            running.cancel()
            try await running.value
        }
    }

    @Test func `A reading that fails is repeated after a minute`() async throws {
        let (sleeps, slept) = AsyncStream.makeStream(of: Duration.self)
        let (steps, _) = AsyncStream.makeStream(of: Void.self)
        let schedule = FeedbackSchedule(
            try Self.reader(APNSEnvironment(host: "127.0.0.1", port: 1)), in: InMemoryDeviceTokens(),
            topic: Sample.topic, clock: SteppedClock(slept: slept, step: steps))
        let running = Task { try await schedule.run() }
        var waits = sleeps.makeAsyncIterator()
        #expect(await waits.next() == .seconds(60))
        running.cancel()
        try await running.value
    }

    @Test func `A record that fails is told once the others were tried`() async throws {
        struct Failing: DeviceTokens {
            let record: InMemoryDeviceTokens
            let bad: DeviceToken

            func registrationTime(of deviceToken: DeviceToken, topic: String) async throws -> Date? {
                guard deviceToken != bad else { throw ProviderTestError() }
                return await record.registrationTime(of: deviceToken, topic: topic)
            }

            func remove(_ deviceToken: DeviceToken, topic: String, registeredAt time: Date) async throws {
                await record.remove(deviceToken, topic: topic, registeredAt: time)
            }
        }
        let (bad, good) = (try Sample.deviceToken(1), try Sample.deviceToken(2))
        let record = InMemoryDeviceTokens()
        await record.register(good, topic: Sample.topic, at: Date(timeIntervalSince1970: 0))
        let list = try Self.entry(bad) + Self.entry(good)
        try await RawServer.run(.saying(list, closes: true)) { environment in
            let reader = try Self.reader(environment)
            await #expect(throws: ProviderTestError.self) {
                try await reader.forgetInactive(in: Failing(record: record, bad: bad), topic: Sample.topic)
            }
            let left = await record.deviceTokens(for: Sample.topic)
            #expect(left.isEmpty)
        }
    }
}
