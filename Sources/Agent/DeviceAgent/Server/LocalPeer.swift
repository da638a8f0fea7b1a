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

    /// The number of the process that has connected; 0 if the system does not say it.
    package var process: Int32 = 0
    /// Which apps the process may be, beside what the manifests say.
    package var reach = Reach.all

    /// Which apps a process may be.
    package enum Reach: Sendable, Hashable {
        /// Those that the manifests allow.
        case all
        /// One app. Such a process has no other rights, also as the agent's user.
        case only(String)
        /// None: the process descends from a command, and nobody knows from which.
        case nothing

        /// What is in both.
        package func and(_ other: Reach) -> Reach {
            switch (self, other) {
            case (.all, let reach), (let reach, .all): reach
            case (.only(let one), .only(let two)) where one == two: self
            default: .nothing
            }
        }
    }

    package init(user: UInt32, groups: Set<UInt32>) {
        (self.user, self.groups) = (user, groups)
    }

    /// Whether the process may be this app, if the manifest allows it.
    func mayBe(_ bundleID: String) -> Bool {
        switch reach {
        case .all: true
        case .only(let app): app == bundleID
        case .nothing: false
        }
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
            process = credentials.process
            groups.formUnion(Self.groups(of: socket))
        }

        private static func groups(of socket: CInt) -> [UInt32] {
            var capacity = 64
            while capacity <= maximumGroups {
                var groups = [UInt32](repeating: 0, count: capacity)
                var length = socklen_t(capacity * MemoryLayout<UInt32>.size)
                if getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, &groups, &length) == 0 {
                    return Array(groups.prefix(Int(length) / MemoryLayout<UInt32>.size))  // fits: 32 bits
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
