import Foundation

/// How many files the process may have open.
package enum OpenFiles {
    /// The files for the store, the listeners, the management API and the log, several times over.
    static let reserve = 200

    /// How many files are left for connections.
    static var forConnections: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return reserve }
        return max(1, Int(clamping: limit.rlim_cur) - reserve)
    }

    /// Raises the limit as far as the system allows, because each connection is an open file.
    package static func raise() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        // If this fails, the system's limit remains.
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
