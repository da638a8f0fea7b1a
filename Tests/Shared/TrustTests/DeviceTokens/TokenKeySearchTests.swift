import CommonTesting
import Synchronization
import Testing

@testable import Trust

@Suite("Looking up token keys", .timeLimit(.minutes(1)))
struct TokenKeySearchTests {
    private struct Trouble: Error {}

    /// A store of keys that answers when the test says so.
    private final class Place: Sendable {
        private struct State {
            var asked = 0
            var answers: [CheckedContinuation<Void, any Error>] = []
        }

        private let state = Mutex(State())
        var asked: Int { state.withLock { $0.asked } }

        func ask() async throws {
            try await withCheckedThrowingContinuation { continuation in
                state.withLock { state in
                    state.asked += 1
                    state.answers.append(continuation)
                }
            }
        }

        /// Answers the present look-up, or the next one if there is none.
        func answer(_ result: Result<Void, any Error> = .success(())) async throws {
            let answer = try await firstValue {
                state.withLock { $0.answers.isEmpty ? nil : $0.answers.removeFirst() }
            }
            answer.resume(with: result)
        }
    }

    private let place = Place()

    private func search() -> TokenKeySearch {
        TokenKeySearch(interval: .zero) { [place] in try await place.ask() }
    }

    @Test
    func `Callers that come during a look-up share the next one`() async throws {
        let search = search()
        let first = Task { try await search.run() }
        try await wait(while: place.asked < 1)
        let others = (0..<50).map { _ in Task { try await search.run() } }
        // The others wait for a look-up that begins after their calls.
        try await wait(while: search.waitingCount < others.count)
        try await place.answer()
        try await first.value
        try await place.answer()
        for other in others { try await other.value }
        #expect(place.asked == 2)
    }

    @Test
    func `The next look-up begins after an interval at the earliest`() async throws {
        let (intervals, began) = AsyncStream<Duration>.makeStream()
        let (ends, end) = AsyncStream<Void>.makeStream()
        let search = TokenKeySearch(interval: .milliseconds(50)) { duration in
            began.yield(duration)
            for await _ in ends { break }
        } ask: { [place] in
            try await place.ask()
        }
        var interval = intervals.makeAsyncIterator()
        for number in 1...3 {
            let run = Task { try await search.run() }
            if number > 1 {
                // The caller waits, and nothing was asked in the interval.
                try await wait(while: search.waitingCount < 1)
                #expect(place.asked == number - 1)
                end.yield()
            }
            try await place.answer()
            try await run.value
            let length = await interval.next()
            #expect(length == .milliseconds(50))
        }
        // Ends the task of the look-ups.
        end.finish()
    }

    @Test
    func `A look-up that fails fails for all that wait for it, and the next one is made anew`() async throws {
        let search = search()
        let run = Task { try await search.run() }
        try await place.answer(.failure(Trouble()))
        await #expect(throws: Trouble.self) { try await run.value }
        let again = Task { try await search.run() }
        try await place.answer()
        try await again.value
    }
}
