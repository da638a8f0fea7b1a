/// What this node knows of the clock of PostgreSQL's server, from the readings that came with answers.
///
/// A reading was made at some moment between sending the statements and getting the answer. So at each later or earlier
/// moment of this machine, the server's clock is between two bounds. The later bound says when, in the server's time, a
/// notification was accepted at the latest. PostgreSQL compares it with the time at which the mailbox's present
/// notification was stored (``PostgresStore``). The error only ever makes the bound too late: then an older
/// notification may replace a newer one, but none is refused that was accepted after another node's 200.
struct DatabaseClock: Sendable {
    /// A time of a server's clock that an answer brought.
    struct Reading: Sendable, Hashable {
        /// Names the process of the server: the time of its start, in microseconds since 1970.
        var server: Int64
        /// In microseconds since 1970.
        var time: Int64
        /// When the statements were passed to the connection, and when the answer was there.
        var sent: ContinuousClock.Instant
        var received: ContinuousClock.Instant
    }

    /// A moment in the time of one server.
    struct Moment: Sendable, Hashable {
        let server: Int64
        /// In microseconds since 1970.
        let time: Int64
    }

    /// How much faster or slower one of the two clocks may run: 0.1 percent. NTP corrects a clock by at most half of this.
    static let drift: Int64 = 1000

    /// A time that a clock had at an instant of this machine, at the latest or at the earliest.
    private struct Bound: Sendable {
        let instant: ContinuousClock.Instant
        let time: Int64

        func latest(at other: ContinuousClock.Instant) -> Int64 { shifted(to: other, by: 1) }
        func earliest(at other: ContinuousClock.Instant) -> Int64 { shifted(to: other, by: -1) }

        private func shifted(to other: ContinuousClock.Instant, by sign: Int64) -> Int64 {
            let distance = Int64(clamping: instant.duration(to: other).attoseconds / 1_000_000_000_000)
            // The 1 is for what the division drops.
            let error = Int64(clamping: distance.magnitude) / DatabaseClock.drift + 1
            return time.clampedSum(distance).clampedSum(sign * error)  // fits: a fraction of a distance
        }
    }

    private struct Measurement: Sendable {
        let server: Int64
        var latest: Bound
        var earliest: Bound

        init(_ reading: Reading) {
            server = reading.server
            latest = Bound(instant: reading.sent, time: reading.time)
            earliest = Bound(instant: reading.received, time: reading.time)
        }

        func contradicts(_ reading: Reading) -> Bool {
            latest.latest(at: reading.received) < reading.time || reading.time < earliest.earliest(at: reading.sent)
        }

        mutating func narrow(by reading: Reading) {
            let (new, instant) = (Measurement(reading), reading.received)
            if new.latest.latest(at: instant) < latest.latest(at: instant) { latest = new.latest }
            if new.earliest.earliest(at: instant) > earliest.earliest(at: instant) { earliest = new.earliest }
        }
    }

    private var measurement: Measurement?
    /// Mailboxes may have versions up to this time from a clock that is no longer used: of an earlier primary, or before
    /// somebody set the clock. Times up to here compare with nothing.
    private var horizon = Int64.min
    /// How often a reading could not be of the clock that was measured before: somebody had set it, or it was another
    /// server's. What was decided by the measurement before may have been wrong.
    private(set) var changes = 0

    mutating func record(_ reading: Reading) {
        guard let known = measurement else {
            measurement = Measurement(reading)
            return
        }
        guard known.server == reading.server, !known.contradicts(reading) else {
            horizon = max(horizon, known.latest.latest(at: reading.received))
            measurement = Measurement(reading)
            changes += 1
            return
        }
        measurement?.narrow(by: reading)
    }

    /// Returns the latest time that the server's clock can have had at this instant; nil if it was not measured, or if other
    /// clocks may have given such times.
    func latest(at instant: ContinuousClock.Instant) -> Moment? {
        guard let measurement else { return nil }
        let time = measurement.latest.latest(at: instant)
        return time > horizon ? Moment(server: measurement.server, time: time) : nil
    }
}

extension Int64 {
    /// The sum, or the nearest number that there is.
    fileprivate func clampedSum(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}
