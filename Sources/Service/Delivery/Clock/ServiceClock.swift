package import Notifications
import Synchronization

/// The service's clock: the machine's clock with an offset that a test may increase. It only moves forward.
///
/// Clients do not know the offset, so times in their requests are the machine's. ``serviceTime(ofClient:)`` converts
/// them, and ``clientTime(of:)`` converts the service's times for answers. Certificates use ``machineTime``, as TLS
/// does.
package final class ServiceClock: Sendable {
    /// The largest sum of all advances: a century. The limit prevents overflows when times are computed from the
    /// clock.
    package static let maximumOffset = Duration.seconds(100 * 365 * 86_400)

    /// Why the clock was not advanced.
    package enum AdvanceError: Error, Hashable {
        /// The clock is the system's.
        case isSystem
        /// The duration is negative, or the advances together exceed ``maximumOffset``.
        case tooFar
    }

    /// Whether the clock can be advanced.
    package let isVirtual: Bool
    private let machine: @Sendable () -> Moment
    /// The offset in milliseconds. It is outside the lock, because each request reads it.
    private let offset = Atomic<UInt64>(0)
    private let history = Mutex(ClockHistory())
    /// The clocks of teams, which may be ahead of this one.
    package let teams = TeamClocks()

    /// - Parameter machine: returns the machine's clocks.
    package init(isVirtual: Bool = false, machine: @escaping @Sendable () -> Moment) {
        self.isVirtual = isVirtual
        self.machine = machine
    }

    /// Whether the clock differs from the machine's.
    package var isAdvanced: Bool { offset.load(ordering: .relaxed) > 0 }

    /// The service's time.
    package var time: Timestamp { moment.time }

    /// The time of day and the uptime. The offset applies to both, so that rates and deadlines advance too.
    package var moment: Moment {
        let now = machine()
        let offset = offset.load(ordering: .relaxed)
        guard offset > 0 else { return now }
        let duration = Duration.milliseconds(Int64(clamping: offset))
        return Moment(time: now.time.advanced(by: duration), uptime: now.uptime.advanced(by: duration))
    }

    /// The machine's time, which tests cannot advance.
    package var machineTime: Timestamp { machine().time }

    /// Increases the offset.
    /// - Returns: The service's time afterwards.
    /// - Throws: ``AdvanceError``.
    @discardableResult
    package func advance(by duration: Duration) throws(AdvanceError) -> Timestamp {
        guard isVirtual else { throw .isSystem }
        let now = machine()
        let isAdvanced = history.withLock { history in
            guard let milliseconds = history.milliseconds(of: duration) else { return false }
            history.advance(by: milliseconds, at: now.time)
            offset.store(history.offset, ordering: .relaxed)
            return true
        }
        guard isAdvanced else { throw .tooFar }
        return time
    }

    /// Increases the offset of a team's clock. The service's clock stays as it is.
    /// - Returns: The team's time afterwards.
    /// - Throws: ``AdvanceError``.
    @discardableResult
    package func advance(_ team: TeamID, by duration: Duration) throws(AdvanceError) -> Timestamp {
        guard isVirtual else { throw .isSystem }
        guard teams.advance(team, by: duration, at: time) else { throw .tooFar }
        return time(of: team)
    }

    /// By how many seconds a team's clock is ahead of the service's.
    package func ahead(_ team: TeamID) -> Double { Double(teams.offset(of: team)) / 1000 }

    /// The time of a team's clock.
    package func time(of team: TeamID) -> Timestamp {
        time.advanced(by: .milliseconds(Int64(clamping: teams.offset(of: team))))
    }

    /// Converts a client's time to the service's: adds the offset that was in force at that time, or the current
    /// offset for a future time.
    package func serviceTime(ofClient time: Timestamp) -> Timestamp {
        guard isAdvanced else { return time }
        return history.withLock { $0.serviceTime(ofClient: time) }
    }

    /// Converts a time of the service to a time for clients. Times that were skipped by an advance become the moment
    /// of the advance.
    package func clientTime(of time: Timestamp) -> Timestamp {
        guard isAdvanced else { return time }
        return history.withLock { $0.clientTime(of: time) }
    }
}

extension ServiceClock {
    /// Whether any clock differs from the machine's, the service's or a team's.
    package var isAnyAdvanced: Bool { isAdvanced || teams.areAdvanced }

    /// Converts a client's expiration to the time of the team that owns an app. It is rounded up to whole seconds, so that
    /// ``clientExpiration(of:for:)`` returns the client's value.
    package func teamExpiration(ofClient expiration: Expiration, for app: AppID) -> Expiration {
        guard case .at(let seconds) = expiration, isAnyAdvanced else { return expiration }
        let time = teams.teamTime(of: serviceTime(ofClient: Timestamp(seconds: seconds)), app)
        return .at(time.advanced(by: .milliseconds(999)).seconds)
    }

    /// Converts an expiration back to the client's; see ``teamExpiration(ofClient:for:)``.
    package func clientExpiration(of expiration: Expiration, for app: AppID) -> Expiration {
        guard case .at(let seconds) = expiration, isAnyAdvanced else { return expiration }
        return .at(clientTime(of: teams.serviceTime(of: Timestamp(seconds: seconds), app)).seconds)
    }

    /// Converts a client's seconds since 1970 to the time of its team, for the `iat` of a provider token.
    ///
    /// A whole second may mean any moment within it. If a clock was advanced within the second, the time counts as
    /// after the advance. But a token that was verified before the advance keeps its earlier time.
    package func teamSeconds(ofClient seconds: Double, of team: TeamID) -> Double {
        guard isAnyAdvanced, seconds >= 0, seconds < 1e13 else { return seconds }
        let isWhole = seconds == seconds.rounded()
        let time = Timestamp(milliseconds: UInt64(seconds * 1000) + (isWhole ? 999 : 0))  // fits: less than 1e16
        let converted = teams.teamTime(of: serviceTime(ofClient: time), team)
        return seconds + Double(converted.milliseconds - time.milliseconds) / 1000  // fits: clocks only advance
    }
}
