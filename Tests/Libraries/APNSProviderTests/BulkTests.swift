import NIOCore
import ProviderTesting
import Synchronization
import Testing

@testable import APNSProvider

/// Sending many notifications with one call of `send`.
@Suite(.timeLimit(.minutes(2))) struct BulkTests {
    /// Counts the elements that were taken from it.
    private struct Counting: AsyncSequence, Sendable {
        let elements: [Push]
        var failsAtTheEnd = false
        let taken = Taken()

        final class Taken: Sendable {
            private let count = Mutex(0)
            var value: Int { count.withLock { $0 } }
            func add() { count.withLock { $0 += 1 } }
        }

        struct Iterator: AsyncIteratorProtocol {
            let source: Counting
            var index = 0
            mutating func next() async throws -> Push? {
                guard index < source.elements.count else {
                    if source.failsAtTheEnd { throw ProviderTestError() }
                    return nil
                }
                defer { index += 1 }
                source.taken.add()
                return source.elements[index]
            }
        }

        func makeAsyncIterator() -> Iterator { Iterator(source: self) }
    }

    @Test func `One outcome for each`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            request.path.hasSuffix("07")
                ? connection.answer(request.stream, status: 400, reason: "BadDeviceToken")
                : connection.answer(request.stream)
        }) { server in
            try await server.withClient { client in
                let outcomes = client.send(try Sample.pushes(200))
                var seen: [DeviceToken: Bool] = [:]
                for await outcome in outcomes { seen[outcome.item.deviceToken] = outcome.isAccepted }
                #expect(seen.count == 200)
                #expect(seen.values.count { !$0 } == 1)
                let expected = SendProgress(taken: 200, accepted: 199, failed: 1, isSourceAtEnd: true)
                #expect(outcomes.progress == expected)
            }
        }
    }

    @Test func `No more is taken than may be on the way`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            try await server.withClient({ $0.maximumInFlight = 10 }) { client in
                let source = Counting(elements: try Sample.pushes(100))
                let outcomes = client.send(source)
                var iterator = outcomes.makeAsyncIterator()
                let first = try await iterator.next()
                #expect(first != nil)
                // All ten requests are answered, but nobody reads the other outcomes.
                await server.log.requests(10)
                let sentinel = client.send(try Sample.pushes(1))
                for await _ in sentinel {}
                #expect(source.taken.value == 10)
                var count = 1
                while try await iterator.next() != nil { count += 1 }
                #expect(count == 100)
            }
        }
    }

    @Test func `When the reader is cancelled sending ends`() async throws {
        try await ScriptedServer.run(script: { _, _ in }) { server in
            try await server.withClient { client in
                let pushes = try Sample.pushes(5)
                let reading = Task {
                    var count = 0
                    for await _ in client.send(pushes) { count += 1 }
                    return count
                }
                await server.log.requests(1)
                reading.cancel()
                let count = await reading.value
                #expect(count == 0)
                await server.log.cancelled(1)
            }
        }
    }

    @Test func `When the iterator is dropped sending ends`() async throws {
        try await ScriptedServer.run(script: { request, connection in
            if request.number == 0 { connection.answer(request.stream) }
        }) { server in
            try await server.withClient({ $0.maximumInFlight = 3 }) { client in
                for await _ in client.send(try Sample.pushes(5)) { break }
                // Requests that were under way are cancelled, so the client has room for others.
                #expect(client.configuration.maximumInFlight == 3)
                await server.log.cancelled(1)
            }
        }
    }

    @Test func `An error of the source comes after the outcomes`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            try await server.withClient { client in
                var source = Counting(elements: try Sample.pushes(3))
                source.failsAtTheEnd = true
                var count = 0
                var hasFailed = false
                do {
                    for try await _ in client.send(source) { count += 1 }
                } catch is ProviderTestError {
                    hasFailed = true
                }
                #expect(count == 3)
                #expect(hasFailed)
            }
        }
    }

    @Test func `A sequence is read once`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            try await server.withClient { client in
                let outcomes = client.send(try Sample.pushes(2))
                for await _ in outcomes {}
                for await _ in outcomes { Issue.record("an outcome from the second reading") }
                #expect(server.log.requests.count == 2)
            }
        }
    }

    @Test func `An empty source ends at once`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            try await server.withClient { client in
                for await _ in client.send([]) { Issue.record("an outcome of nothing") }
                #expect(server.log.connections == 0)
            }
        }
    }
}
