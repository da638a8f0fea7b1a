import Connections
import NIOCore
import ProviderTesting
import Synchronization
import Testing

@testable import APNSProvider

/// Requests that a gateway forwards together.
@Suite struct ForwardingTests {
    /// Counts answers as a gateway's connection takes them: a list, which is read when the reader is woken.
    private final class Reader: AnswerReader {
        private struct State {
            var unread: [Bool] = []
            var read: [Bool] = []
        }

        private let expected: Int
        private let state = Mutex(State())
        private let end = AsyncStream.makeStream(of: [Bool].self)

        init(expecting expected: Int) { self.expected = expected }

        func add(_ answer: Result<PushAnswer, ProviderError>) -> (any AnswerReader)? {
            state.withLock { state in
                defer { state.unread.append((try? answer.get().isSuccess) ?? false) }
                return state.unread.isEmpty ? self : nil
            }
        }

        func wake() {
            let read = state.withLock { state in
                state.read += state.unread
                state.unread = []
                return state.read
            }
            if read.count == expected { end.continuation.yield(read) }
        }

        /// Whether each request was accepted, in the order of the answers, when all were read.
        var all: [Bool] { get async { await end.stream.first { _ in true } ?? [] } }
    }

    /// The answers' errors, in their order.
    private final class Errors: Sendable {
        private let all = AsyncStream.makeStream(of: ProviderError?.self)

        func request(_ request: PushRequest, waits: Bool) -> ForwardedPushRequest {
            ForwardedPushRequest(request, share: "s", waitsForConnection: waits) { answer in
                if case .failure(let error) = answer {
                    self.all.continuation.yield(error)
                } else {
                    self.all.continuation.yield(nil)
                }
                return nil
            }
        }

        func next() async -> ProviderError? { await all.stream.first { _ in true } ?? nil }
    }

    @Test(.timeLimit(.minutes(2)))
    func `While nobody listens, a request fails at once, and one that was held waits`() async throws {
        let isUp = Mutex(false)
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            var internals = ProviderClient.Internals()
            let port = server.port
            internals.lookUp = HostLookup { _, _ in
                // Nobody listens at the first address.
                [try SocketAddress(ipAddress: isUp.withLock { $0 } ? "127.0.0.1" : "127.0.0.11", port: port)]
            }
            // The next attempt is far away.
            internals.limits.delays = GrowingDelay(first: .hours(1), longest: .hours(1))
            try await server.withClient(internals: internals) { client in
                let errors = Errors()
                for _ in 0..<3 {
                    client.forward([errors.request(request(topic: "a"), waits: false)], deadline: .seconds(3_600))
                    #expect(await errors.next()?.code == .cannotConnect)
                }
            }
            internals.limits.delays = GrowingDelay(first: .milliseconds(10), longest: .milliseconds(10))
            try await server.withClient(internals: internals) { client in
                let (errors, held) = (Errors(), Errors())
                client.forward([errors.request(request(topic: "a"), waits: false)], deadline: .seconds(3_600))
                #expect(await errors.next()?.code == .cannotConnect)
                client.forward([held.request(request(topic: "b"), waits: true)], deadline: .seconds(3_600))
                isUp.withLock { $0 = true }
                #expect(await held.next() == nil)
                #expect(server.log.requests.map { $0.headers["apns-topic"] } == ["b"])
            }
        }
    }

    private func request(topic: String) -> PushRequest {
        PushRequest(deviceToken: "00", topic: topic, payload: ByteBuffer(string: "{}"))
    }

    @Test(.timeLimit(.minutes(2)))
    func `No answer is left unread after the readers were woken`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            try await server.withClient { client in
                let reader = Reader(expecting: 300)
                for share in ["a", "b", "c"] {
                    let forwarded = (0..<100).map { _ in
                        ForwardedPushRequest(request(topic: share), share: share) { reader.add($0) }
                    }
                    client.forward(forwarded, deadline: .seconds(60))
                }
                #expect(await reader.all == Array(repeating: true, count: 300))
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `A request that no header can hold fails alone`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            try await server.withClient { client in
                let reader = Reader(expecting: 3)
                let forwarded = ["a", "b\r\n", "c"].map { topic in
                    ForwardedPushRequest(request(topic: topic), share: "s") { reader.add($0) }
                }
                client.forward(forwarded, deadline: .seconds(60))
                let accepted = await reader.all.filter(\.self)
                #expect(accepted.count == 2)
                #expect(Set(server.log.requests.map { $0.headers["apns-topic"] }) == ["a", "c"])
            }
        }
    }
}
