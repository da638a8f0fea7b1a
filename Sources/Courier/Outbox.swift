import Connections
import Delivery
import NIOCore
import Synchronization

/// What the streams of one event loop have to write: all that has gathered in one go.
///
/// The pushes of one read go to as many devices, and to hand each to its event loop by itself cost as much as to write
/// its line. Where the read was on the same event loop, they go out as soon as it has been handed on, and otherwise in one
/// task.
final class Outbox: Sendable {
    enum Item: Sendable {
        case sending(Sending)
        case end(StreamEnd)
    }

    private struct Entry: Sendable {
        let stream: DeviceStream
        let item: Item
    }

    private struct Waiting {
        var entries: [Entry] = []
        /// Room for those that come while the others are written.
        var spare: [Entry] = []
    }

    private let eventLoop: any EventLoop
    private let waiting = Mutex(Waiting())
    /// For how many entries room is kept: more than there are in a read of all providers, as a rule.
    private static let keptRoom = 1024

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// Has the stream write the item, soon, on the event loop; one stream's items in the order in which they came.
    func add(_ item: Item, to stream: DeviceStream) {
        let isFirst = waiting.withLock { waiting in
            waiting.entries.append(Entry(stream: stream, item: item))
            return waiting.entries.count == 1
        }
        if isFirst { AfterBatch.perform(on: eventLoop) { self.writeAll() } }
    }

    /// Never within itself, which would forget whom to flush: `AfterBatch` has whatever is added meanwhile wait for the event
    /// loop's next tasks.
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
            // What goes to one device goes in one write.
            if stream.lastInBatch == index { stream.flush() }
        }
        guard entries.capacity <= Self.keptRoom else { return }
        entries.removeAll(keepingCapacity: true)
        waiting.withLock { $0.spare = entries }
    }
}

/// The outboxes of the event loops, of which there are as many as threads.
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
