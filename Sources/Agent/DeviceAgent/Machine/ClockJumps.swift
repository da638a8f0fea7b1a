/// Tells a machine that was suspended from one whose clock was set. The kernel reports both in the same way, because its clock jumps
/// in both cases.
struct ClockJumps: Sendable, Hashable {
    /// A machine that was suspended for less has kept its connections, and the time is measured by two clocks that are not
    /// read at the same moment.
    static let shortest = Duration.seconds(1)

    /// How long the machine had been suspended since its start when the clock last jumped: CLOCK_BOOTTIME, which goes on
    /// meanwhile, without CLOCK_MONOTONIC, which does not.
    private var suspended: Duration

    init(suspended: Duration) { self.suspended = suspended }

    /// - Parameter now: how long the machine has been suspended since its start.
    /// - Returns: what the jump means.
    mutating func clockChanged(suspended now: Duration) -> MachineChange {
        defer { suspended = now }
        return now - suspended >= Self.shortest ? .resumed(now - suspended) : .clockSet
    }
}
