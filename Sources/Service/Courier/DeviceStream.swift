import Delivery
import HTTP2
import NIOCore

/// A device's open stream of notifications. It takes attempts on any thread and adds them to the outbox of the
/// connection's event loop, which writes them.
final class DeviceStream: NotificationStream, BroadcastStream {
    private let connection: NIOLoopBound<DeviceConnection>
    private let outbox: Outbox
    private let stream: StreamID
    /// The index of this stream's last item in the batch that is being written. On the event loop only.
    nonisolated(unsafe) var lastInBatch = 0

    init(connection: NIOLoopBound<DeviceConnection>, outbox: Outbox, stream: StreamID) {
        self.connection = connection
        self.outbox = outbox
        self.stream = stream
    }

    func send(_ attempt: DeliveryAttempt) { outbox.add(.attempt(attempt), to: self) }

    func send(_ broadcast: BroadcastMessage) { outbox.add(broadcast, to: self) }

    func end(_ reason: StreamEnd) { outbox.add(.end(reason), to: self) }

    /// Ends the stream once the broadcasts that wait for their turn are written.
    /// - Returns: false if none waits. Then the caller has to end it.
    func endAfterBroadcasts(_ reason: StreamEnd) -> Bool { outbox.addAfterBroadcasts(reason, of: self) }

    /// Writes an item, which is sent by ``flush()``. Call it on the event loop.
    func write(_ item: Outbox.Item) {
        switch item {
        case .attempt(let attempt): connection.value.write(attempt, on: stream)
        case .end(let reason): connection.value.end(stream, reason)
        }
    }

    /// Returns a broadcast's line, which is the same for all devices. Call it on the event loop.
    func line(of broadcast: BroadcastMessage) -> ByteBuffer {
        NotificationLine.of(broadcast, clock: connection.value.courier.clock)
    }

    /// Writes and sends a broadcast's line. Call it on the event loop.
    func write(_ line: ByteBuffer) {
        connection.value.write(line, on: stream)
        connection.value.flush()
    }

    /// Sends what was written. Call it on the event loop.
    func flush() { connection.value.flush() }
}
