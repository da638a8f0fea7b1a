import NIOCore
import Synchronization

/// The open connections of all listeners of the API. If there is no room for a new connection, the one that has been
/// idle for longest is closed, so holding connections open locks nobody out.
final class ConnectionTable: Sendable {
    /// One connection.
    final class Entry: Sendable {
        fileprivate struct State {
            /// When the connection became idle; nil while a request is being answered.
            var idleSince: NIODeadline?
            /// Whether it has not had a request yet.
            var isUnused = true

            /// Whether the connection is so new that its first request may be on its way.
            func isNew(at now: NIODeadline) -> Bool {
                guard isUnused, let idleSince else { return false }
                return idleSince + ManagementLimits.newConnectionGrace > now
            }
        }

        private let mutex: Mutex<State>
        private let channel: any Channel
        fileprivate let opened: NIODeadline

        init(_ channel: any Channel, now: NIODeadline) {
            self.channel = channel
            opened = now
            mutex = Mutex(State(idleSince: now))
        }

        func setIdle(since moment: NIODeadline?) {
            mutex.withLock { $0 = State(idleSince: moment, isUnused: false) }
        }

        fileprivate var state: State { mutex.withLock(\.self) }
        fileprivate func close() { channel.close(promise: nil) }
    }

    private let entries = Mutex<[ObjectIdentifier: Entry]>([:])
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// Adds a connection. If the limit is reached, closes the one that has been idle for longest, but none that is so new
    /// that its first request may be on its way: many clients that connect at the same moment would close each other's
    /// connections. As many as ``ManagementLimits/newConnections`` may be open beyond the limit for that.
    /// - Returns: false if there is no room, because the others are busy. The caller then has to close the new connection.
    func add(_ entry: Entry) -> Bool {
        let (isAdmitted, leaving) = entries.withLock { entries -> (Bool, Entry?) in
            var leaving: Entry?
            if entries.count >= limit {
                let idle = entries.values.compactMap { other in
                    let state = other.state
                    return state.idleSince.map { (entry: other, since: $0, isNew: state.isNew(at: entry.opened)) }
                }
                if let oldest = idle.filter({ !$0.isNew }).min(by: { $0.since < $1.since }) {
                    leaving = entries.removeValue(forKey: ObjectIdentifier(oldest.entry))
                } else if entries.count - idle.count >= limit {
                    return (false, nil)
                } else if entries.count >= limit + ManagementLimits.newConnections,
                    let oldest = idle.min(by: { $0.since < $1.since })
                {
                    leaving = entries.removeValue(forKey: ObjectIdentifier(oldest.entry))
                }
            }
            entries[ObjectIdentifier(entry)] = entry
            return (true, leaving)
        }
        leaving?.close()
        return isAdmitted
    }

    func remove(_ entry: Entry) {
        entries.withLock { $0[ObjectIdentifier(entry)] = nil }
    }
}
