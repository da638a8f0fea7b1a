package import Notifications
import Synchronization

/// What this node remembers of devices beside their registrations: which software they have, and when they were last
/// connected. It is for people, so it is in memory alone.
package final class SeenDevices: Sendable {
    /// What is remembered of one device.
    package struct Entry: Sendable, Hashable {
        /// The software with its version; nil if the device has not said it.
        package var software: String?
        /// When its stream of notifications last began or ended.
        package var lastSeen: Timestamp
    }

    /// The devices that are remembered: twice as many as a node is made for. An entry takes about 100 bytes.
    package static let maximumCount = 200_000

    private let state = Mutex<[DeviceKey: Entry]>([:])
    private let maximumCount: Int

    /// - Parameter maximumCount: one device more makes the node forget those that it has not seen for longest.
    package init(maximumCount: Int = SeenDevices.maximumCount) { self.maximumCount = maximumCount }

    /// A device has said which software it has.
    package func reported(_ software: String, by device: DeviceKey, at time: Timestamp) {
        change(device) { $0 = Entry(software: software, lastSeen: time) }
    }

    /// The stream of a device has begun or ended.
    package func saw(_ device: DeviceKey, at time: Timestamp) {
        change(device) { $0 = Entry(software: $0?.software, lastSeen: time) }
    }

    /// - Returns: nil if the device was not connected to this node since its start, or was forgotten.
    package func entry(of device: DeviceKey) -> Entry? { state.withLock { $0[device] } }

    private func change(_ device: DeviceKey, _ body: (inout Entry?) -> Void) {
        state.withLock { entries in
            body(&entries[device])
            guard entries.count > maximumCount else { return }
            // Forget an eighth at once, because finding the oldest looks at all.
            let times = entries.values.map(\.lastSeen).sorted()
            let limit = times[times.count / 8]
            entries = entries.filter { $0.value.lastSeen > limit || $0.key == device }
        }
    }
}
