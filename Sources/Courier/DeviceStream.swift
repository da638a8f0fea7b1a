import Delivery
import HTTP2
import NIOCore
import Synchronization

/// A device's open stream of notifications: takes sendings on any thread, and writes on the connection's event loop,
/// all that have gathered at once.
final class DeviceStream: NotificationStream {
    private let connection: NIOLoopBound<DeviceConnection>
    private let outbox: Outbox
    private let stream: StreamID
    private let queue = Mutex(Queue())

    private struct Queue {
        var sendings: [Sending] = []
        var end: StreamEnd?
        /// Whether ``write()`` will be called.
        var isScheduled = false
    }

    init(connection: NIOLoopBound<DeviceConnection>, outbox: Outbox, stream: StreamID) {
        self.connection = connection
        self.outbox = outbox
        self.stream = stream
    }

    func send(_ sending: Sending) {
        schedule { $0.sendings.append(sending) }
    }

    func end(_ reason: StreamEnd) {
        schedule { $0.end = $0.end ?? reason }
    }

    private func schedule(_ change: (inout Queue) -> Void) {
        let isFirst = queue.withLock { queue in
            change(&queue)
            defer { queue.isScheduled = true }
            return !queue.isScheduled
        }
        if isFirst { outbox.add(self) }
    }

    /// On the event loop.
    func write() {
        let (sendings, end) = queue.withLock { queue in
            defer { queue = Queue() }
            return (queue.sendings, queue.end)
        }
        connection.value.write(sendings, end: end, on: stream)
    }
}
