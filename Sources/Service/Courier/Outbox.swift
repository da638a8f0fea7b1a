import Connections
import Delivery
import NIOCore
import Synchronization

/// The items that the streams of one event loop have to write together.
///
/// Nearly every push goes to another device, and a task of the event loop for each one would cost as much as writing
/// its line. So all that come from one read of a provider's connection are written together: after the read, if it was
/// on the same event loop, otherwise in one task.
final class Outbox: Sendable {
    enum Item: Sendable {
        case attempt(DeliveryAttempt)
        case end(StreamEnd)
    }

    private struct Entry: Sendable {
        let stream: DeviceStream
        let item: Item
        let term: UInt64
    }

    /// Whether something that was added in a term may still be written. If the lease has run out since, other nodes may have
    /// taken the devices. The end of a stream is always written.
    /// - Parameter open: the term of the lease; nil if it has run out.
    static func mayWrite(_ item: Item?, addedIn term: UInt64, open: UInt64?) -> Bool {
        if case .end = item { true } else { term == open }
    }

    private struct Waiting {
        var entries: [Entry] = []
        /// Memory for items that are added while others are written.
        var spare: [Entry] = []
    }

    private let eventLoop: any EventLoop
    private let fence: HoldFence?
    private let waiting = Mutex(Waiting())
    /// Whether ``writeAll()`` runs, for an assertion. On the event loop only.
    private nonisolated(unsafe) var isWriting = false
    private let broadcasts = Mutex(BroadcastQueue<DeviceStream>())
    /// The lines of the broadcasts that are being written. On the event loop only.
    private nonisolated(unsafe) var encoding = BroadcastEncoding()
    /// The number of entries that memory is kept for. It is usually more than one read of all providers has.
    private static let keptRoom = 1024

    /// - Parameter fence: nil if no other node can take this one's devices.
    init(_ eventLoop: any EventLoop, _ fence: HoldFence?) {
        self.eventLoop = eventLoop
        self.fence = fence
    }

    private var term: UInt64 { fence?.begunTerm ?? 0 }
    private var openTerm: UInt64? { if let fence { fence.openTerm } else { 0 } }

    /// Makes the stream write the item soon, on the event loop. The items of one stream keep their order, and its end
    /// comes after its broadcasts too.
    func add(_ item: Item, to stream: DeviceStream) {
        if case .end(let reason) = item, addAfterBroadcasts(reason, of: stream) { return }
        addNow(item, to: stream)
    }

    /// Makes the end of a stream wait for its broadcasts.
    /// - Returns: false if none waits.
    func addAfterBroadcasts(_ end: StreamEnd, of stream: DeviceStream) -> Bool {
        broadcasts.withLock { $0.append(end, of: stream) }
    }

    private func addNow(_ item: Item, to stream: DeviceStream) {
        let term = term
        let isFirst = waiting.withLock { waiting in
            waiting.entries.append(Entry(stream: stream, item: item, term: term))
            return waiting.entries.count == 1
        }
        if isFirst { AfterBatch.perform(on: eventLoop) { self.writeAll() } }
    }

    /// Makes the stream write a broadcast when it is its turn.
    func add(_ broadcast: BroadcastMessage, to stream: DeviceStream) {
        let term = term
        let isFirst = broadcasts.withLock { $0.append(broadcast, to: stream, in: term) }
        if isFirst { SlicedWork.begin(on: eventLoop) { self.writeBroadcasts() } }
    }

    /// Writes some of the waiting broadcasts.
    /// - Returns: Whether others wait still.
    private func writeBroadcasts() -> Bool {
        eventLoop.assertInEventLoop()
        let open = openTerm
        for _ in 0..<Self.broadcastsPerSlice {
            switch broadcasts.withLock({ $0.next() }) {
            case .broadcast(let broadcast, let stream, let term)?:
                guard Self.mayWrite(nil, addedIn: term, open: open) else { continue }
                stream.write(encoding.line(of: broadcast.number) { stream.line(of: broadcast) })
            // What was added for the stream before its end may still wait to be written, so the end comes after it.
            case .end(let reason, let stream)?: addNow(.end(reason), to: stream)
            case nil:
                encoding.removeAll()
                return false
            }
        }
        return true
    }

    /// The number of devices that a broadcast is written to before the event loop reads and writes for other connections
    /// again: about 150 µs of work, which is what another push takes. Fewer would make broadcasts slower
    /// (docs/performance-notes.md).
    private static let broadcastsPerSlice = 6

    /// Writes all items. It must not be called while it runs, because it would then forget which streams to flush. So
    /// `AfterBatch` delays items that are added meanwhile to the event loop's next tasks.
    private func writeAll() {
        eventLoop.assertInEventLoop()
        assert(!isWriting, "Items are written while others are being written.")
        isWriting = true
        defer { isWriting = false }
        var entries = waiting.withLock { waiting in
            let entries = waiting.entries
            waiting.entries = waiting.spare
            waiting.spare = []
            return entries
        }
        assert(!entries.isEmpty, "Nothing was to be written.")
        let open = openTerm
        for index in entries.indices { entries[index].stream.lastInBatch = index }
        for index in entries.indices {
            let entry = entries[index]
            let stream = entry.stream
            if Self.mayWrite(entry.item, addedIn: entry.term, open: open) { stream.write(entry.item) }
            // Send all items for one device in one write.
            if stream.lastInBatch == index { stream.flush() }
        }
        guard entries.capacity <= Self.keptRoom else { return }
        entries.removeAll(keepingCapacity: true)
        waiting.withLock { $0.spare = entries }
    }
}

/// The outboxes of the event loops, one for each.
final class Outboxes: Sendable {
    private let outboxes = Mutex<[ObjectIdentifier: Outbox]>([:])
    private let fence: HoldFence?

    init(_ fence: HoldFence?) { self.fence = fence }

    func outbox(of eventLoop: any EventLoop) -> Outbox {
        outboxes.withLock { outboxes in
            if let known = outboxes[ObjectIdentifier(eventLoop)] { return known }
            let new = Outbox(eventLoop, fence)
            outboxes[ObjectIdentifier(eventLoop)] = new
            return new
        }
    }
}
