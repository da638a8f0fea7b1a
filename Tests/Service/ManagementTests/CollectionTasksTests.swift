import CommonTesting
import Synchronization
import Testing

@testable import Management

@Suite("Elements in tasks", .timeLimit(.minutes(1)))
struct CollectionTasksTests {
    /// How many tasks run, and the most that did.
    private struct Running {
        var now = 0
        var most = 0
        var begun = 0

        mutating func begin() {
            begun += 1
            now += 1
            most = max(most, now)
        }
    }

    private struct Failure: Error {}

    @Test(arguments: [1, 3, 100])
    func `All are transformed, in their order, and only so many at the same time`(_ limit: Int) async throws {
        let running = Mutex(Running())
        let together = min(limit, 20)
        let results = try await Array(0..<20).mapInTasks(atMost: limit) { number in
            running.withLock { $0.begin() }
            // The first ones wait for each other, so all of them run at the same time.
            try await wait(while: running.withLock({ $0.begun < together }))
            running.withLock { $0.now -= 1 }
            return number * 2
        }
        #expect(results == (0..<20).map { $0 * 2 })
        #expect(running.withLock { $0.most } == together)
    }

    @Test
    func `Nothing is begun after an error`() async throws {
        let running = Mutex(Running())
        await #expect(throws: Failure.self) {
            try await Array(0..<100).mapInTasks(atMost: 2) { number in
                running.withLock { $0.begin() }
                if number == 1 { throw Failure() }
            }
        }
        #expect(running.withLock { $0.begun } < 100)
    }

    @Test
    func `Without elements there are no results`() async throws {
        #expect(try await [Int]().mapInTasks(atMost: 3) { $0 }.isEmpty)
    }
}
