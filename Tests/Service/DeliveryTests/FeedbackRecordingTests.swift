import Delivery
import SQLiteStore
import Notifications
import Synchronization
import Testing

/// Which attempts to removed apps make feedback entries, and the answers of a gateway that discards notifications.
@Suite("Delivery and feedback", .timeLimit(.minutes(1)))
struct FeedbackRecordingTests {
    private static let list = FeedbackList(environment: Example.device.environment, app: AppID(rawValue: 1))

    private static func listed(_ rig: DeliveryRig) async throws -> [ListedFeedback] {
        await rig.delivery.flushFeedback()
        return try await rig.store.memory.entries(of: list, after: nil, limit: 100)
    }

    private static func end(_ rig: DeliveryRig) async throws {
        rig.clock.advance(by: .seconds(1))
        _ = try await rig.store.memory.end(Example.destination(), at: rig.clock.now.time)
    }

    @Test
    func `An attempt to reach a removed app lists its device token, with the time of the removal`() async throws {
        let rig = try await DeliveryRig()
        try await Self.end(rig)
        let ended = rig.clock.now.time
        rig.clock.advance(by: .seconds(60))
        rig.submit(1)
        let listed = try await Self.listed(rig)
        #expect(listed.map(\.token) == [Example.token(Example.destination())])
        #expect(listed.map(\.moment) == [ended])
        #expect(rig.answers.reason(of: 1) == .unregistered)
    }

    @Test
    func `Other rejections list nothing`() async throws {
        let rig = try await DeliveryRig()
        rig.submit(1, generation: 7)
        rig.submit(2, app: 9)
        #expect(rig.answers.reason(of: 1) == .badDeviceToken && rig.answers.reason(of: 2) == .badDeviceToken)
        #expect(try await Self.listed(rig).isEmpty)
    }

    @Test
    func `A thousand attempts make one entry`() async throws {
        let rig = try await DeliveryRig()
        try await Self.end(rig)
        for number in 1...1000 as ClosedRange<UInt64> { rig.submit(number) }
        #expect(try await Self.listed(rig).count == 1)
    }

    @Test
    func `A shutdown waits until entries are written`() async throws {
        let rig = try await DeliveryRig()
        try await Self.end(rig)
        rig.submit(1)
        await rig.delivery.drain()
        #expect(try await rig.store.memory.entries(of: Self.list, after: nil, limit: 100).count == 1)
    }

    @Test
    func `A gateway that stops after a rejection gets no more answers of its batch`() async throws {
        let rig = try await DeliveryRig()
        let stream = await rig.online()
        let answers = ChoosyAnswers()
        let generations: [UInt32] = [1, 1, 7, 1, 7]
        let submissions = generations.enumerated().map { index, generation in
            Example.submission(UInt64(index + 1), .immediately, generation: generation)
        }
        rig.delivery.submit(submissions, answers: answers)
        #expect(stream.numbers == [1000, 1, 2])
        #expect(answers.tickets == [1, 2, 3])
    }

    /// The connection of a gateway that accepts nothing more after a rejection.
    private final class ChoosyAnswers: SubmissionAnswers {
        private let state = Mutex((tickets: [UInt64](), hasFailed: false))
        var tickets: [UInt64] { state.withLock { $0.tickets } }
        var takesMore: Bool { state.withLock { !$0.hasFailed } }

        func answer(_ ticket: UInt64, with outcome: Outcome) {
            state.withLock { state in
                state.tickets.append(ticket)
                if case .rejected = outcome { state.hasFailed = true }
            }
        }
    }
}
