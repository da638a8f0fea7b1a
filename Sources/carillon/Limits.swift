import Foundation

/// What the system grants a process.
enum Limits {
    /// Each connection is an open file: takes as many as the system allows without asking.
    static func raiseOpenFiles() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        // Where it is refused, the system's own number stays.
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
