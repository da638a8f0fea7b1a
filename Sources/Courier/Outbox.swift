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
    /// The number of entries that memory is kept for. It is usually more than one read of all providers has.
    private static let keptRoom = 1024

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// Makes the stream write the item soon, on the event loop. The items of one stream keep their order.
    func add(_ item: Item, to stream: DeviceStream) {
        let isFirst = waiting.withLock { waiting in
            waiting.entries.append(Entry(stream: stream, item: item))
            return waiting.entries.count == 1
        }
        if isFirst { AfterBatch.perform(on: eventLoop) { self.writeAll() } }
    }

    /// Writes all items. It never runs inside itself, because it would then forget which streams to flush:
    /// `AfterBatch` delays what is added meanwhile to the event loop's next tasks.
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
