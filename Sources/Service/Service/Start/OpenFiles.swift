import Foundation

/// The number of files that the process may open.
package enum OpenFiles {
    /// Files that are kept free for the store, the listeners, the log and the connections between nodes. Fifty nodes need
    /// fewer.
    static let reserve = 200
    /// How many of these are for connections from other nodes. So nodes reach each other when providers and devices have
    /// used theirs up, and whoever reaches the nodes' port cannot use up the others.
    static let forNodes = 100

    /// How many of the files may be connections.
    static var forConnections: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return reserve }
        return max(1, Int(clamping: limit.rlim_cur) - reserve)  // fits: at most Int.max, less a small number
    }

    /// Raises the limit as far as the system allows, because each connection is an open file.
    package static func raise() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        // If this fails, the system's present limit remains.
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
