import Connections
import Delivery
import DequeModule
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
    private let broadcasts = Mutex(WaitingBroadcasts())
    /// The line of the broadcast that is being written. On the event loop only.
    private nonisolated(unsafe) var line: (number: UInt64, bytes: ByteBuffer)?
    /// The number of entries that memory is kept for. It is usually more than one read of all providers has.
    private static let keptRoom = 1024

    /// - Parameter fence: nil if no other node can take this one's devices.
    init(_ eventLoop: any EventLoop, _ fence: HoldFence?) {
        self.eventLoop = eventLoop
        self.fence = fence
    }

    private var term: UInt64 { fence?.begunTerm ?? 0 }
    private var openTerm: UInt64? { if let fence { fence.openTerm } else { 0 } }

    /// Makes the stream write the item soon, on the event loop. The items of one stream keep their order.
    func add(_ item: Item, to stream: DeviceStream) {
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
        let isFirst = broadcasts.withLock { waiting in
            waiting.entries.append((broadcast, stream, term))
            defer { waiting.isWriting = true }
            return !waiting.isWriting
        }
        if isFirst { eventLoop.execute { self.writeBroadcasts() } }
    }

    /// Writes some of the waiting broadcasts in this task of the event loop, and the others in later tasks, so that
    /// in between the event loop can read and write for other connections.
    private func writeBroadcasts() {
        var written = 0
        let open = openTerm
        while written < Self.broadcastsPerTurn {
            guard let (broadcast, stream, term) = broadcasts.withLock({ $0.next() }) else {
                line = nil
                return
            }
            guard Self.mayWrite(nil, addedIn: term, open: open) else { continue }
            if line?.number != broadcast.number { line = (broadcast.number, stream.line(of: broadcast)) }
            if let line { stream.write(line.bytes) }
            written += 1
        }
        eventLoop.execute { self.writeBroadcasts() }
    }

    private struct WaitingBroadcasts {
        var entries = Deque<(BroadcastMessage, DeviceStream, UInt64)>()
        /// Whether a task of the event loop writes them.
        var isWriting = false

        mutating func next() -> (BroadcastMessage, DeviceStream, UInt64)? {
            let next = entries.popFirst()
            if next == nil {
                isWriting = false
                // The memory that a broadcast to many devices took is not needed until the next one.
                entries = []
            }
            return next
        }
    }

    /// The number of devices that a broadcast is written to in one task of the event loop: about a millisecond's work.
    private static let broadcastsPerTurn = 32

    /// Writes all items. It must not be called while it runs, because it would then forget which streams to flush. So
    /// `AfterBatch` delays items that are added meanwhile to the event loop's next tasks.
    private func writeAll() {
        var entries = waiting.withLock { waiting in
            let entries = waiting.entries
            waiting.entries = waiting.spare
            waiting.spare = []
            return entries
        }
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
