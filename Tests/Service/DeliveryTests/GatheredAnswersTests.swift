import Notifications
import Synchronization
import Testing

@testable import Delivery

@Suite("Gathered answers")
struct GatheredAnswersTests {
    /// Keeps the tickets of each call.
    private final class Calls: SubmissionAnswers {
        private let all = Mutex<[[UInt64]]>([])
        var tickets: [[UInt64]] { all.withLock { $0 } }

        func answer(_ ticket: UInt64, with outcome: Outcome) { answer([(ticket, outcome)]) }
        func answer(_ answers: [SubmissionAnswer]) { all.withLock { $0.append(answers.map(\.ticket)) } }
    }

    @Test
    func `Each connection gets its answers in one call, in their order`() {
        let (first, second) = (Calls(), Calls())
        var answers = GatheredAnswers()
        for (ticket, receiver) in [(1, first), (2, first), (3, second), (4, first), (5, second)] as [(UInt64, Calls)] {
            answers.append((ticket, .accepted), for: receiver)
        }
        #expect(first.tickets.isEmpty)
        answers.give()
        #expect(first.tickets == [[1, 2, 4]])
        #expect(second.tickets == [[3, 5]])
    }

    @Test
    func `Notifications of several devices that wait for a busy store form its next batch, answered together`()
        async throws
    {
        let rig = try await DeliveryRig(holding: [.store])
        let destinations = (1...4 as ClosedRange<UInt64>).map { number in
            Example.destination(on: DeviceKey(environment: .production, device: DeviceID(rawValue: number)))
        }
        for destination in destinations { try await rig.register(destination) }
        let calls = Calls()
        let submissions = zip(1..., destinations).map { Example.submission($0, to: $1) }
        rig.delivery.submit([submissions[0]], answers: calls)
        await rig.store.arrival(.store)
        rig.delivery.submit(Array(submissions[1...]), answers: calls)
        rig.store.open()
        await rig.delivery.drain()
        #expect(rig.store.batches.values == [[1], [2, 3, 4]])
        #expect(calls.tickets == [[1], [2, 3, 4]])
    }
}
