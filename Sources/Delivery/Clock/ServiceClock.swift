package import Notifications
import Synchronization

/// The clock by which the service lives: the machine's, and an offset that a test may add to. It only goes forward.
///
/// Clients do not know the offset, so their times are the machine's: ``serviceTime(ofClient:)`` reads them, and
/// ``clientTime(of:)`` writes the service's times for them. Certificates go by ``machineTime``, because TLS does.
package final class ServiceClock: Sendable {
    /// How far all advances together may go: a century. No time that is calculated from the clock overflows.
    package static let maximumOffset = Duration.seconds(100 * 365 * 86_400)

    /// Why the clock was not advanced.
    package enum AdvanceError: Error, Hashable {
        /// It is the system's clock.
        case isSystem
        /// The duration is negative, or the advances together exceed ``maximumOffset``.
        case tooFar
    }

    /// Whether it can be advanced.
    package let isVirtual: Bool
    private let machine: @Sendable () -> Moment
    /// In milliseconds. Each request reads it, so it is outside the lock.
    private let offset = Atomic<UInt64>(0)
    private let history = Mutex(ClockHistory())

    /// - Parameter machine: what the machine's clocks say.
    package init(isVirtual: Bool = false, machine: @escaping @Sendable () -> Moment) {
        self.isVirtual = isVirtual
        self.machine = machine
    }

    /// Whether it differs from the machine's.
    package var isAdvanced: Bool { offset.load(ordering: .relaxed) > 0 }

    /// The service's time.
    package var time: Timestamp { moment.time }

    /// One look at the service's clocks. The uptime goes forward with the time, so that rates and deadlines do too.
    package var moment: Moment {
        let now = machine()
        let offset = offset.load(ordering: .relaxed)
        guard offset > 0 else { return now }
        let duration = Duration.milliseconds(Int64(clamping: offset))
        return Moment(time: now.time.advanced(by: duration), uptime: now.uptime.advanced(by: duration))
    }

    /// The machine's time, which nothing advances.
    package var machineTime: Timestamp { machine().time }

    /// Adds to the offset.
    /// - Returns: the service's time from now on.
    @discardableResult
    package func advance(by duration: Duration) throws(AdvanceError) -> Timestamp {
        guard isVirtual else { throw .isSystem }
        let now = machine()
        let isAdvanced = history.withLock { history in
            let milliseconds = UInt64(clamping: duration.attoseconds / 1_000_000_000_000_000)
            let limit = UInt64(Self.maximumOffset.components.seconds) * 1000
            guard duration >= .zero, milliseconds <= limit - history.offset else { return false }
            history.advance(by: milliseconds, at: now.time)
            offset.store(history.offset, ordering: .relaxed)
            return true
        }
        guard isAdvanced else { throw .tooFar }
        return time
    }

    /// What a time that a client names is for the service: the offset in force at that moment is added, and of a future
    /// moment the present offset.
    package func serviceTime(ofClient time: Timestamp) -> Timestamp {
        guard isAdvanced else { return time }
        return history.withLock { $0.serviceTime(ofClient: time) }
    }

    /// What a time of the service is for clients. What happened while the clock was advanced happened, for them, at the
    /// moment of the advance.
    package func clientTime(of time: Timestamp) -> Timestamp {
        guard isAdvanced else { return time }
        return history.withLock { $0.clientTime(of: time) }
    }
}

extension ServiceClock {
    /// A client's expiration as the service counts it. It is in whole seconds, rounded up, so that
    /// ``clientExpiration(of:)`` gives back what the client wrote.
    package func serviceExpiration(ofClient expiration: Expiration) -> Expiration {
        guard case .at(let seconds) = expiration, isAdvanced else { return expiration }
        let time = serviceTime(ofClient: Timestamp(seconds: seconds))
        return .at(time.advanced(by: .milliseconds(999)).seconds)
    }

    /// The reverse of ``serviceExpiration(ofClient:)``.
    package func clientExpiration(of expiration: Expiration) -> Expiration {
        guard case .at(let seconds) = expiration, isAdvanced else { return expiration }
        return .at(clientTime(of: Timestamp(seconds: seconds)).seconds)
    }

    /// Seconds since 1970 of a client, for the service: the `iat` of a provider token.
    ///
    /// Whole seconds are a moment somewhere in that second. If the clock was advanced within it, the moment counts as one
    /// after the advance: a token that was verified before keeps the time that it had then.
    package func serviceSeconds(ofClient seconds: Double) -> Double {
        guard isAdvanced, seconds >= 0, seconds < 1e13 else { return seconds }
        let isWhole = seconds == seconds.rounded()
        let time = Timestamp(milliseconds: UInt64(seconds * 1000) + (isWhole ? 999 : 0))
        return seconds + Double(serviceTime(ofClient: time).milliseconds - time.milliseconds) / 1000
    }
}
