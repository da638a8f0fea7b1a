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

    private let eventLoop: any EventLoop
    private let waiting = Mutex<[(stream: DeviceStream, item: Item)]>([])

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// Has the stream write the item, soon, on the event loop; one stream's items in the order in which they came.
    func add(_ item: Item, to stream: DeviceStream) {
        let isFirst = waiting.withLock { waiting in
            waiting.append((stream, item))
            return waiting.count == 1
        }
        if isFirst { AfterBatch.perform(on: eventLoop) { self.writeAll() } }
    }

    private func writeAll() {
        let items = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for (stream, item) in items { stream.write(item) }
        // All is written before the first of it is encrypted and sent: what goes to one device goes in one write, and the
        // processor does the same thing many times.
        for (stream, _) in items { stream.flush() }
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
