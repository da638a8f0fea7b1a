import Synchronization

/// A clock that a test advances.
final class ManualClock: Clock, Sendable {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
    }

    /// The time, and the times until which tasks sleep.
    private let state = Observed((now: Duration.zero, sleepers: [Duration]()))

    var now: Instant { Instant(offset: state.value.now) }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        state.update { $0.sleepers.append(deadline.offset) }
        try await state.wait { $0.now >= deadline.offset }
    }

    /// Waits until this many tasks sleep, and advances the clock.
    func advance(by duration: Duration, sleepers: Int) async throws {
        try await state.wait { $0.sleepers.count >= sleepers }
        state.update { $0.now += duration }
    }
}
