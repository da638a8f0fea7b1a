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
