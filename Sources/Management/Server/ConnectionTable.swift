import NIOCore
import Synchronization

/// The open connections of all listeners of the API: who each is, and which may be closed to make room for another.
final class ConnectionTable: Sendable {
    /// A connection as the table sees it.
    protocol Connection: AnyObject, Sendable {
        /// Closes the connection. Called on any thread.
        func makeRoom()
    }

    private struct Entry {
        let connection: any Connection
        var caller: ManagementCaller
        /// Since when it has had nothing to do; nil while a request is being answered.
        var idleSince: NIODeadline?
    }

    private let entries = Mutex<[ObjectIdentifier: Entry]>([:])
    private let limit: Int

    init(limit: Int = ManagementLimits.openConnections) { self.limit = limit }

    /// Takes a connection in. If there are too many, the one that has been idle for longest is closed.
    /// - Returns: whether it may stay: false if all others are busy.
    func add(_ connection: any Connection, on channel: any Channel, caller: ManagementCaller, now: NIODeadline) -> Bool {
        let (isAdmitted, leaving) = entries.withLock { entries -> (Bool, (any Connection)?) in
            var leaving: (any Connection)?
            if entries.count >= limit {
                let idle = entries.compactMap { name, entry in entry.idleSince.map { (name: name, since: $0) } }
                guard let oldest = idle.min(by: { $0.since < $1.since }) else { return (false, nil) }
                leaving = entries.removeValue(forKey: oldest.name)?.connection
            }
            entries[ObjectIdentifier(channel)] = Entry(connection: connection, caller: caller, idleSince: now)
            return (true, leaving)
        }
        leaving?.makeRoom()
        return isAdmitted
    }

    func remove(_ channel: any Channel) {
        entries.withLock { $0[ObjectIdentifier(channel)] = nil }
    }

    /// The TLS handshake has said who it is.
    func identify(_ channel: any Channel, as caller: ManagementCaller) {
        entries.withLock { $0[ObjectIdentifier(channel)]?.caller = caller }
    }

    /// - Parameter idleSince: nil while a request is being answered.
    func note(_ channel: any Channel, idleSince: NIODeadline?) {
        entries.withLock { $0[ObjectIdentifier(channel)]?.idleSince = idleSince }
    }

    /// Who is on the other side; nil if the connection has been closed to make room.
    func caller(on channel: any Channel) -> ManagementCaller? {
        entries.withLock { $0[ObjectIdentifier(channel)]?.caller }
    }
}
