import CPages

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Decides when a service that has worked and now rests gives memory back.
///
/// After the teams of 200 tests, a service had 45 MB resident of which it used a few: the C library keeps what was freed, and
/// the pages of the program that were used stay mapped.
struct IdleRelief {
    /// For so many checks in a row, of ``MemoryRelief/interval`` each, the service has to rest.
    static let checks = 5
    /// The processor time in one check up to which it rests. Its clocks and an open connection need less.
    static let rest = Duration.milliseconds(20)
    /// The processor time since the last relief that makes another one worth its few milliseconds.
    static let work = Duration.milliseconds(100)

    private var relieved: Duration
    private var last: Duration
    private var resting = 0

    /// - Parameter used: the processor time of the process.
    init(used: Duration) { (relieved, last) = (used, used) }

    /// Whether to give memory back now. Call it once in each interval.
    mutating func isDue(used: Duration) -> Bool {
        resting = used - last <= Self.rest ? resting + 1 : 0
        last = used
        guard resting >= Self.checks, used - relieved >= Self.work else { return false }
        relieved = used
        return true
    }

    /// The processor time of this process.
    static var used: Duration {
        var time = timespec()
        guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return .zero }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Gives freed memory back, and the pages of the program that were used. What is used again comes from the system's cache.
    static func giveBack() {
        MemoryRelief.giveBack()
        carillon_pages_release()
    }
}
