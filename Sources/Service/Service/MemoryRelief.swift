import CMalloc
import Dispatch

/// Decides when to return the memory of closed connections to the system.
///
/// The C library keeps freed memory for later allocations, and returns only the ends of its heaps. For example, it
/// kept 430 MB after eight thousand devices had disconnected, of which only 50 MB were in use.
struct MemoryRelief {
    /// Memory is returned after this number of connections have ended. That is about 25 MB, worth the few
    /// milliseconds that it takes.
    static let connections = 500

    /// If the number of open connections no longer changes, memory is returned after this smaller number have ended.
    static let remainder = 50

    /// The time between two checks.
    static let interval = Duration.seconds(1)

    private var most = 0
    private var last = 0

    /// Whether to return memory now: many connections have ended since the last time, or some have ended and the
    /// number of open connections no longer changes.
    mutating func isDue(openConnections open: Int) -> Bool {
        most = max(most, open)
        let isQuiet = open == last
        last = open
        let haveMostEnded = most - open >= Self.connections && open <= most / 2
        guard haveMostEnded || isQuiet && most - open >= Self.remainder else { return false }
        most = open
        return true
    }

    /// Returns free memory to the system. Call it on a thread that serves no connection, because it locks one heap
    /// after the other.
    static func giveBack() {
        #if canImport(Glibc)
            DispatchQueue.global(qos: .utility).async { _ = malloc_trim(0) }
        #endif
    }
}
