import NIOCore
import Synchronization

/// The open connections of all listeners of the API, of which the one that has been idle for longest makes room for a new
/// one: nobody locks others out by holding connections.
final class ConnectionTable: Sendable {
    /// One connection.
    final class Entry: Sendable {
        /// Since when it has had nothing to do; nil while a request is being answered.
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

    /// Takes a connection in. If there are as many as there may be, the one that has been idle for longest is closed.
    /// - Returns: whether it may stay: false if all others are busy.
    func add(_ entry: Entry) -> Bool {
        let (isAdmitted, leaving) = entries.withLock { entries -> (Bool, Entry?) in
            var leaving: Entry?
            if entries.count >= limit {
                let idle = entries.values.compactMap { entry in entry.idle.map { (entry: entry, since: $0) } }
                guard let oldest = idle.min(by: { $0.since < $1.since }) else { return (false, nil) }
                leaving = entries.removeValue(forKey: ObjectIdentifier(oldest.entry))
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
