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
    }

    private struct Waiting {
        var entries: [Entry] = []
        /// Memory for items that are added while others are written.
        var spare: [Entry] = []
    }

    private let eventLoop: any EventLoop
    private let waiting = Mutex(Waiting())
    private let broadcasts = Mutex(BroadcastQueue<DeviceStream>())
    /// The lines of the broadcasts that are being written. On the event loop only.
    private nonisolated(unsafe) var encoding = BroadcastEncoding()
    /// The number of entries that memory is kept for. It is usually more than one read of all providers has.
    private static let keptRoom = 1024

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

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
        let isFirst = waiting.withLock { waiting in
            waiting.entries.append(Entry(stream: stream, item: item))
            return waiting.entries.count == 1
        }
        if isFirst { AfterBatch.perform(on: eventLoop) { self.writeAll() } }
    }

    /// Makes the stream write a broadcast when it is its turn.
    func add(_ broadcast: BroadcastMessage, to stream: DeviceStream) {
        let isFirst = broadcasts.withLock { $0.append(broadcast, to: stream) }
        if isFirst { eventLoop.execute { self.writeBroadcasts() } }
    }

    /// Writes some of the waiting broadcasts in this task of the event loop, and the others in later tasks, so that
    /// in between the event loop can read and write for other connections.
    private func writeBroadcasts() {
        for _ in 0..<Self.broadcastsPerTurn {
            switch broadcasts.withLock({ $0.next() }) {
            case .broadcast(let broadcast, let stream)?:
                stream.write(encoding.line(of: broadcast.number) { stream.line(of: broadcast) })
            // What was added for the stream before its end may still wait to be written, so the end comes after it.
            case .end(let reason, let stream)?: addNow(.end(reason), to: stream)
            case nil: return encoding.removeAll()
            }
        }
        eventLoop.execute { self.writeBroadcasts() }
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
        for index in entries.indices { entries[index].stream.lastInBatch = index }
        for index in entries.indices {
            let stream = entries[index].stream
            stream.write(entries[index].item)
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

    func outbox(of eventLoop: any EventLoop) -> Outbox {
        outboxes.withLock { outboxes in
            if let known = outboxes[ObjectIdentifier(eventLoop)] { return known }
            let new = Outbox(eventLoop)
            outboxes[ObjectIdentifier(eventLoop)] = new
            return new
        }
    }
}
