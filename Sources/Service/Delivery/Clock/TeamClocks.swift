package import Notifications
import Synchronization

/// The clocks of teams: each is the service's clock with an offset that a test may increase, so that tests of different
/// teams can run side by side.
///
/// All times are those of the service's clock or of a team's, and never the machine's. As long as no team has an offset,
/// each question costs one load and one branch.
package final class TeamClocks: Sendable {
    private let isUsed = Atomic(false)
    private let state = Mutex(State())

    private struct State {
        var histories: [TeamID: ClockHistory] = [:]
        /// Returns the team that owns an app; nil if there is no such app.
        var team: @Sendable (AppID) -> TeamID? = { _ in nil }

        func history(_ app: AppID) -> ClockHistory? { team(app).flatMap { histories[$0] } }
    }

    package init() {}

    /// Whether a team's clock differs from the service's.
    package var areAdvanced: Bool { isUsed.load(ordering: .relaxed) }

    /// Sets how to find the team of an app. Until then, every app follows the service's clock.
    package func follow(_ team: @escaping @Sendable (AppID) -> TeamID?) { state.withLock { $0.team = team } }

    /// Increases a team's offset.
    /// - Parameter time: the service's time.
    /// - Returns: whether the offset is within the limit of ``ServiceClock/maximumOffset``.
    func advance(_ team: TeamID, by duration: Duration, at time: Timestamp) -> Bool {
        state.withLock { state in
            var history = state.histories[team] ?? ClockHistory()
            guard let milliseconds = history.milliseconds(of: duration) else { return false }
            guard milliseconds > 0 else { return true }
            history.advance(by: milliseconds, at: time)
            state.histories[team] = history
            isUsed.store(true, ordering: .relaxed)
            return true
        }
    }

    /// Forgets a team that was deleted: a new team with its identifier begins with the service's clock.
    package func forget(_ team: TeamID) {
        guard areAdvanced else { return }
        state.withLock { state in
            state.histories[team] = nil
            isUsed.store(!state.histories.isEmpty, ordering: .relaxed)
        }
    }

    /// The teams whose clocks differ from the service's, each with its offset in milliseconds.
    package var offsets: [TeamID: UInt64] {
        guard areAdvanced else { return [:] }
        return state.withLock { $0.histories.mapValues(\.offset) }
    }

    /// By how many milliseconds a team is ahead of the service.
    package func offset(of team: TeamID) -> UInt64 {
        guard areAdvanced else { return 0 }
        return state.withLock { $0.histories[team]?.offset ?? 0 }
    }

    /// The time of the team that owns an app, at a time of the service that is now.
    package func time(_ now: Timestamp, of app: AppID) -> Timestamp {
        guard areAdvanced else { return now }
        let offset = state.withLock { $0.history(app)?.offset ?? 0 }
        return now.advanced(by: .milliseconds(Int64(clamping: offset)))
    }

    /// Converts a time of the service, which may be an earlier or a future one, to the time of the team that owns an app.
    func teamTime(of time: Timestamp, _ app: AppID) -> Timestamp {
        guard areAdvanced else { return time }
        return state.withLock { $0.history(app)?.serviceTime(ofClient: time) ?? time }
    }

    func teamTime(of time: Timestamp, _ team: TeamID) -> Timestamp {
        guard areAdvanced else { return time }
        return state.withLock { $0.histories[team]?.serviceTime(ofClient: time) ?? time }
    }

    /// Converts a time of the team that owns an app to the service's. Times that were skipped by an advance become the
    /// moment of the advance.
    package func serviceTime(of time: Timestamp, _ app: AppID) -> Timestamp {
        guard areAdvanced else { return time }
        return state.withLock { $0.history(app)?.clientTime(of: time) ?? time }
    }
}
