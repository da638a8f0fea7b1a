import Synchronization

/// Limits the number of services in this process. Each has some thirty open files, and Foundation's `Process`, with
/// which other tests start programs, reads beyond its list of open files if there are more than about 1,300.
final class Turns: Sendable {
    static let services = Turns(8)

    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(_ count: Int) { state = Mutex(State(free: count)) }

    /// Whether the task has a turn already, because a test may run several services.
    @TaskLocal private static var isHeld = false

    /// Waits for a turn, and keeps it while `body` runs.
    func hold(_ body: () async throws -> Void) async throws {
        guard !Self.isHeld else { return try await body() }
        await take()
        defer { give() }
        try await Self.$isHeld.withValue(true) { try await body() }
    }

    private func take() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    private func give() {
        let next: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
