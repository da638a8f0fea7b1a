import NIOCore
import Synchronization

/// The open connections of all listeners of the API. If there is no room for a new connection, the one that has been
/// idle for longest is closed, so holding connections open locks nobody out.
final class ConnectionTable: Sendable {
    /// One connection.
    final class Entry: Sendable {
        /// When the connection became idle; nil while a request is being answered.
        private let idleSince: Mutex<NIODeadline?>
        private let channel: any Channel

        init(_ channel: any Channel, now: NIODeadline) {
            self.channel = channel
            idleSince = Mutex(now)
        }

        func setIdle(since moment: NIODeadline?) { idleSince.withLock { $0 = moment } }

        fileprivate var idle: NIODeadline? { idleSince.withLock(\.self) }
        fileprivate func close() { channel.close(promise: nil) }
    }

    private let entries = Mutex<[ObjectIdentifier: Entry]>([:])
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// Adds a connection. If the limit is reached, closes the one that has been idle for longest.
    /// - Returns: false if no connection is idle. The caller then has to close the new connection.
    func add(_ entry: Entry) -> Bool {
        let (isAdmitted, leaving) = entries.withLock { entries -> (Bool, Entry?) in
            var leaving: Entry?
            if entries.count >= limit {
                let idle = entries.values.compactMap { entry in entry.idle.map { (entry: entry, since: $0) } }
                guard let oldest = idle.min(by: { $0.since < $1.since }) else { return (false, nil) }
                leaving = entries.removeValue(forKey: ObjectIdentifier(oldest.entry))
            }
            assert(entries.count < limit && entries[ObjectIdentifier(entry)] == nil, "The table has no room for it.")
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
