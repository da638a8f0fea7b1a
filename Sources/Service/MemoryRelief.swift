import CMalloc
import Dispatch

/// Decides when the memory that connections have left behind goes back to the system.
///
/// The C library keeps freed memory for the next allocation and gives back the end of its heaps alone; eight thousand
/// devices that had gone left 430 MB behind, of which 50 MB were in use.
struct MemoryRelief {
    /// How many connections must have ended: some 25 MB, worth the few milliseconds that giving them back takes.
    static let connections = 500

    /// How many must have ended where nothing comes or goes any more: what is left of a wave, for which the above was
    /// due too early.
    static let remainder = 50

    /// How often it is looked at.
    static let interval = Duration.seconds(1)

    private var most = 0
    private var last = 0

    /// Whether it is time: most of the connections that there were since the last time have ended, or some have and it
    /// is quiet.
    mutating func isDue(openConnections open: Int) -> Bool {
        most = max(most, open)
        let isQuiet = open == last
        last = open
        let haveMostEnded = most - open >= Self.connections && open <= most / 2
        guard haveMostEnded || isQuiet && most - open >= Self.remainder else { return false }
        most = open
        return true
    }

    /// Gives back what is free, on a thread that serves no connection: the heaps are locked one after the other.
    static func giveBack() {
        #if canImport(Glibc)
            DispatchQueue.global(qos: .utility).async { _ = malloc_trim(0) }
        #endif
    }
}
