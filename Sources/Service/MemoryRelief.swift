import CMalloc
import Dispatch

/// Decides when to return the memory of closed connections to the system.
///
/// The C library keeps freed memory for the next allocation, and returns only the end of its heaps. After eight
/// thousand devices had disconnected it kept 430 MB, of which 50 MB were in use.
struct MemoryRelief {
    /// The number of connections that must have ended: about 25 MB, worth the few milliseconds of returning them.
    static let connections = 500

    /// The number of connections that must have ended if the number of open ones no longer changes: the rest, if fewer
    /// than ``connections`` have ended since memory was returned.
    static let remainder = 50

    /// The time between two checks.
    static let interval = Duration.seconds(1)

    private var most = 0
    private var last = 0

    /// Whether to return memory now: most connections have ended since the last time, or some have ended and their
    /// number no longer changes.
    mutating func isDue(openConnections open: Int) -> Bool {
        most = max(most, open)
        let isQuiet = open == last
        last = open
        let haveMostEnded = most - open >= Self.connections && open <= most / 2
        guard haveMostEnded || isQuiet && most - open >= Self.remainder else { return false }
        most = open
        return true
    }

    /// Returns free memory, on a thread that serves no connection, because the heaps are locked one after the other.
    static func giveBack() {
        #if canImport(Glibc)
            DispatchQueue.global(qos: .utility).async { _ = malloc_trim(0) }
        #endif
    }
}
