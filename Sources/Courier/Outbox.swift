import NIOCore
import Synchronization

/// The streams of one event loop that have something to write: one task of the loop for all that have gathered.
///
/// The pushes of one read go to as many devices, and to hand each to its event loop by itself cost as much as to write
/// its line.
final class Outbox: Sendable {
    private let eventLoop: any EventLoop
    private let waiting = Mutex<[DeviceStream]>([])

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// Has the stream write what it has, soon, on the event loop.
    func add(_ stream: DeviceStream) {
        let isFirst = waiting.withLock { waiting in
            waiting.append(stream)
            return waiting.count == 1
        }
        guard isFirst else { return }
        eventLoop.execute {
            let streams = self.waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            for stream in streams { stream.write() }
        }
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
