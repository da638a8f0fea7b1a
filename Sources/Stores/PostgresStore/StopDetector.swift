/// Notices that the process was stopped for a while: by a signal, by a debugger, because its machine slept, or because it
/// got no processor time. Requests that wait in its sockets may then be old, and their providers may have sent newer ones
/// to other nodes.
struct StopDetector: Sendable {
    /// How often the process notes that it runs.
    static let interval = Duration.milliseconds(250)
    /// The longest gap between two notes in a process that was not stopped. A busy machine delays a thread by less, and a
    /// provider waits for longer before it sends again.
    static let maximumGap = Duration.seconds(2)
    /// For how long the process counts as stopped at least, once it goes on. By then it has read the requests that
    /// waited in its sockets. Renewing the lease may take less time.
    static let settling = Duration.seconds(1)

    private var last: ContinuousClock.Instant
    /// The last moment at which a gap was noticed; nil if the lease was renewed since.
    private var noticed: ContinuousClock.Instant?

    init(at now: ContinuousClock.Instant) { last = now }

    /// Notes that the process runs.
    mutating func noteRunning(at now: ContinuousClock.Instant) {
        if last.duration(to: now) > Self.maximumGap { noticed = now }
        last = max(last, now)
    }

    /// Whether the process was stopped, and the lease was not renewed since, or only a moment later. Right at once,
    /// before the next note.
    mutating func wasStopped(at now: ContinuousClock.Instant) -> Bool {
        if last.duration(to: now) > Self.maximumGap { noteRunning(at: now) }
        return noticed != nil
    }

    /// The lease was renewed. This counts only if the renewal began long enough after the gap was noticed.
    mutating func renewed(at begin: ContinuousClock.Instant) {
        if let noticed, noticed.advanced(by: Self.settling) <= begin { self.noticed = nil }
    }
}
