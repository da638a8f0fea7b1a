import Delivery
import NIOCore
import Notifications
import Synchronization

/// A connected device that acknowledges every notification.
final class RecordingDevice: NotificationStream {
    private let key: DeviceKey
    private let switchboard: any Switchboard
    private let eventLoop: (any EventLoop)?
    private let state = Mutex(State())

    private struct State {
        var notifications: [Notification] = []
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    /// - Parameter eventLoop: acknowledges on this event loop; nil for a task.
    init(_ key: DeviceKey, on switchboard: any Switchboard, eventLoop: (any EventLoop)? = nil) {
        self.key = key
        self.switchboard = switchboard
        self.eventLoop = eventLoop
    }

    func send(_ attempt: DeliveryAttempt) {
        let waiters = state.withLock { state in
            state.notifications.append(attempt.notification)
            let count = state.notifications.count
            let met = state.waiters.filter { $0.count <= count }.map(\.continuation)
            state.waiters.removeAll { $0.count <= count }
            return met
        }
        // Do not acknowledge here, because the line is still in use by the sender.
        let acknowledge: @Sendable () -> Void = { [switchboard, key] in
            switchboard.acknowledge([attempt.number], by: key)
        }
        if let eventLoop { eventLoop.execute(acknowledge) } else { Task { acknowledge() } }
        for continuation in waiters { continuation.resume() }
    }

    func end(_ reason: StreamEnd) {}

    /// The notifications that the device has received.
    var notifications: [Notification] { state.withLock { $0.notifications } }

    /// The first notifications, once there are this many.
    func first(_ count: Int) async -> [Notification] {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                guard state.notifications.count < count else { return true }
                state.waiters.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
        return notifications
    }
}

extension Notification {
    /// The payload as text, by which tests distinguish notifications.
    var text: String { String(decoding: payload.json, as: UTF8.self) }
}
