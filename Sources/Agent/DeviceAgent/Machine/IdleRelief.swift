import CMalloc
import CPages
import NIOCore

/// Decides when an agent that had something to do is idle again, and gives memory back then: pages of the program's file, and what
/// the C library keeps of freed memory (decision 0088).
struct IdleRelief {
    private var last = NIODeadline.uptimeNanoseconds(0)
    private var isPlanned = false

    /// Notes that the agent does something.
    /// - Returns: whether somebody has to wait for the end of it, by ``wait(at:)``.
    mutating func wasActive(at now: NIODeadline) -> Bool {
        last = now
        defer { isPlanned = true }
        return !isPlanned
    }

    /// - Returns: how long to wait before asking again; nil if the agent is idle, so that memory is given back now.
    mutating func wait(at now: NIODeadline) -> TimeAmount? {
        let due = last + AgentLimits.pageReleaseDelay
        guard now >= due else { return due - now }
        isPlanned = false
        return nil
    }

    static func release() {
        carillon_pages_release()
        #if canImport(Glibc)
            _ = malloc_trim(0)
        #endif
    }
}
