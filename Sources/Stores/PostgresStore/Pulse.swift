/// Notices that the process was stopped for a while: by a signal, by a debugger, because its machine slept, or because it
/// got no processor time. Requests that wait in its sockets may then be old, and their providers may have sent newer ones
/// to other nodes.
struct Pulse: Sendable {
    /// How often the process notes that it runs.
    static let interval = Duration.milliseconds(250)
    /// The longest gap between two notes in a process that was not stopped. A busy machine delays a thread by less, and a
    /// provider waits for longer before it sends again.
    static let maximumGap = Duration.seconds(2)

    private var last: ContinuousClock.Instant
    /// The last moment at which a gap was noticed; nil if the lease was renewed since.
    private var noticed: ContinuousClock.Instant?

    init(at now: ContinuousClock.Instant) { last = now }

    /// Notes that the process runs.
    mutating func beat(at now: ContinuousClock.Instant) {
        if last.duration(to: now) > Self.maximumGap { noticed = now }
        last = max(last, now)
    }

    /// Whether the process was stopped, and the lease was not renewed since. Right at once, before the next note.
    mutating func wasStopped(at now: ContinuousClock.Instant) -> Bool {
        if last.duration(to: now) > Self.maximumGap { beat(at: now) }
        return noticed != nil
    }

    /// The lease was renewed. This counts only if the renewal began after the gap was noticed.
    mutating func renewed(at begin: ContinuousClock.Instant) {
        if let noticed, noticed <= begin { self.noticed = nil }
    }
}
