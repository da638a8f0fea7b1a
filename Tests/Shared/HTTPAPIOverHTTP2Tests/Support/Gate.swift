/// Something that happens once, and that others wait for.
struct Gate: Sendable {
    private let stream = AsyncStream.makeStream(of: Void.self)

    func open() { stream.continuation.finish() }

    func wait() async { for await _ in stream.stream {} }
}
