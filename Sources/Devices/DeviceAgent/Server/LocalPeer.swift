#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The process at the other end of a Unix socket, as the system knows it. A process cannot lie about these.
package struct LocalPeer: Sendable, Hashable {
    /// The user's number.
    package var user: UInt32
    /// The groups that the process is in, including its own.
    package var groups: Set<UInt32>

    package init(user: UInt32, groups: Set<UInt32>) {
        (self.user, self.groups) = (user, groups)
    }

    #if os(Linux)
        /// unix(7), SO_PEERCRED.
        private struct Credentials {
            var process: Int32 = 0
            var user: UInt32 = .max
            var group: UInt32 = .max
        }

        /// The groups of a process are few. Linux allows this many.
        private static let maximumGroups = 65_536

        /// - Returns: nil if the system does not know the process.
        init?(socket: CInt) {
            var credentials = Credentials()
            var length = socklen_t(MemoryLayout<Credentials>.size)
            guard getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else { return nil }
            self.init(user: credentials.user, groups: [credentials.group])
            groups.formUnion(Self.groups(of: socket))
        }

        private static func groups(of socket: CInt) -> [UInt32] {
            var capacity = 64
            while capacity <= maximumGroups {
                var groups = [UInt32](repeating: 0, count: capacity)
                var length = socklen_t(capacity * MemoryLayout<UInt32>.size)
                if getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, &groups, &length) == 0 {
                    return Array(groups.prefix(Int(length) / MemoryLayout<UInt32>.size))
                }
                guard errno == ERANGE else { return [] }
                capacity *= 4
            }
            return []
        }
    #else
        /// - Returns: nil if the system does not know the process.
        init?(socket: CInt) {
            var (user, group) = (uid_t.max, gid_t.max)
            guard getpeereid(socket, &user, &group) == 0 else { return nil }
            self.init(user: user, groups: [group])
        }
    #endif
}
