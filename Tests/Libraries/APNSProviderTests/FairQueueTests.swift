import NIOCore
import ProviderTesting
import Testing

@testable import APNSProvider

/// The queue in which every share has its turn.
@Suite struct FairQueueTests {
    private func queue(_ elements: [(String, share: String?)]) -> FairQueue<String> {
        var queue = FairQueue<String>()
        for (element, share) in elements { queue.append(element, share: share) }
        return queue
    }

    private func drain(_ queue: inout FairQueue<String>) -> [String] {
        var all: [String] = []
        while let next = queue.popFirst() { all.append(next) }
        #expect(queue.isEmpty && queue.count == 0)
        return all
    }

    @Test func `Without shares it is a queue`() {
        var queue = queue([("a", nil), ("b", nil), ("c", nil)])
        queue.prepend("z", share: nil)
        #expect(drain(&queue) == ["z", "a", "b", "c"])
    }

    @Test func `A share that floods delays the others by one element each`() {
        var queue = FairQueue<String>()
        for number in 0..<100 { queue.append("f\(number)", share: "flood") }
        for (element, share) in [("a0", "a"), ("b0", "b"), ("a1", "a")] { queue.append(element, share: share) }
        let order = drain(&queue)
        #expect(order.prefix(5) == ["f0", "a0", "b0", "f1", "a1"])
        #expect(order.count == 103)
        #expect(order.filter { $0.hasPrefix("f") } == (0..<100).map { "f\($0)" })
    }

    @Test(.timeLimit(.minutes(2)))
    func `The client gives each share its turn on a connection with one stream`() async throws {
        var options = ScriptedServer.Options()
        options.streams = 1
        try await ScriptedServer.run(options, script: { $1.answer($0.stream) }) { server in
            try await server.withClient({ $0.maximumConnections = 1 }) { client in
                func forward(_ share: String, _ done: AsyncStream<Bool>.Continuation) {
                    let request = PushRequest(
                        deviceToken: "00", topic: share, payload: ByteBuffer(string: "{}"), id: nil)
                    let forwarded = ForwardedPushRequest(request, share: share) { answer in
                        done.yield((try? answer.get().isSuccess) ?? false)
                        return nil
                    }
                    client.forward([forwarded], deadline: .seconds(60))
                }
                let (answers, done) = AsyncStream.makeStream(of: Bool.self)
                for _ in 0..<100 { forward("flood", done) }
                forward("other", done)
                var accepted = 0
                for await answer in answers.prefix(101) where answer { accepted += 1 }
                #expect(accepted == 101)
                let order = server.log.requests.map { $0.headers["apns-topic"] }
                #expect(order.firstIndex(of: "other") ?? 100 < 50)
            }
        }
    }

    @Test func `An element that is put back is the next one`() {
        var queue = queue([("a0", "a"), ("a1", "a"), ("b0", "b")])
        let first = queue.popFirst()
        #expect(first == "a0")
        queue.prepend("a0", share: "a")
        #expect(drain(&queue) == ["a0", "b0", "a1"])
        queue.append("c", share: "c")
        queue.prepend("d", share: "d")
        #expect(drain(&queue) == ["d", "c"])
    }

    @Test func `A full queue makes room at the cost of the longest share`() {
        var queue = queue([("a0", "a"), ("a1", "a"), ("a2", "a"), ("b0", "b")])
        let dropped = queue.makeRoom(for: "c")
        #expect(dropped == "a2")
        #expect(queue.count == 3)
        // The longest share gets no more room, and neither does one that is as long.
        #expect(queue.makeRoom(for: "a") == nil)
        #expect(queue.makeRoom(for: "b") == nil)
        #expect(queue.makeRoom(for: nil) == nil)
    }

    @Test func `Removing keeps the order of the rest`() {
        var queue = queue([("a0", "a"), ("b0", "b"), ("x", nil), ("a1", "a"), ("c0", "c")])
        let removed = queue.remove { $0.hasSuffix("0") && !$0.hasPrefix("c") }
        #expect(Set(removed) == ["a0", "b0"])
        #expect(queue.contains { $0 == "a1" } && !queue.contains { $0 == "b0" })
        #expect(drain(&queue) == ["x", "a1", "c0"])
        queue.append("a2", share: "a")
        #expect(queue.removeAll() == ["a2"])
        #expect(queue.isEmpty)
    }
}
