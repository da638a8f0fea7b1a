import Foundation

/// The open files that the system grants this process.
package enum OpenFiles {
    /// What the store, the listeners, the administration and the log need, several times over.
    static let reserve = 200

    /// How many are left for connections.
    static var forConnections: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return reserve }
        return max(1, Int(clamping: limit.rlim_cur) - reserve)
    }

    /// Each connection is an open file: takes as many as the system allows without asking.
    package static func raise() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        // Where it is refused, the system's own number stays.
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
