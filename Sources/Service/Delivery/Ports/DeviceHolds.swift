package import Notifications
package import Storage

/// Records which node holds a device's stream, and tells a node what other nodes have changed for its devices. Stores
/// that several nodes use implement it.
///
/// A node claims a device before it reads the device's mailboxes. If a node changes a destination of a device that
/// another node holds, it leaves an announcement for that node in the same transaction. So if one node attaches a
/// stream while another stores a notification, the notification is not missed: the first finds it in the mailbox or
/// gets the announcement.
package protocol DeviceHolds: Sendable {
    /// Makes this node the holder of the devices. The former holder gets an announcement.
    /// - Returns: A hold for each device, in the same order.
    func claim(_ devices: [DeviceKey]) async throws(StoreError) -> [DeviceHold]

    /// Gives devices up, unless another node has claimed them since.
    func release(_ holds: [DeviceHold]) async throws(StoreError)

    /// Returns and removes announcements for this node. If it fails, it may have removed them. The next call then returns
    /// them, perhaps for the second time, but changes that were announced meanwhile may be missing.
    /// - Parameter limit: the largest number; less are returned if there are no more.
    func drainAnnouncements(limit: Int) async throws(StoreError) -> [Announcement]

    /// Where devices are that other nodes hold, as far as the store has said.
    var whereabouts: DeviceWhereabouts { get }

    /// Grows as soon as this node's right to hold devices has run out without a renewal. It then holds none any more.
    var holdTerm: UInt64 { get }
}

/// The hold of a node on a device.
package struct DeviceHold: Sendable, Hashable {
    package let device: DeviceKey
    /// How often a node has claimed the device.
    package let epoch: UInt64
    /// The attempts of the stream get numbers above this one, which is above those of all earlier streams.
    package let previousNumber: UInt64

    package init(device: DeviceKey, epoch: UInt64, previousNumber: UInt64) {
        self.device = device
        self.epoch = epoch
        self.previousNumber = previousNumber
    }

    /// The first number of a stream that begins at this time of the store's clock. A node's clock may differ from the
    /// store's by ten seconds. This number is greater than any number that a node makes from its own clock, so streams of
    /// the same device have growing numbers, whichever nodes they are on.
    package static func previousNumber(at time: Timestamp) -> UInt64 {
        let ahead = time.milliseconds.addingReportingOverflow(20_000)
        let number = ahead.partialValue.multipliedReportingOverflow(by: DeviceLine.numbersPerMillisecond)
        return ahead.overflow || number.overflow ? 0 : number.partialValue
    }
}

/// What another node has done.
package enum Announcement: Sendable, Hashable {
    /// It has stored a notification.
    case changed(Destination)
    /// It has ended the registration or renewed its device token. What waits for the app must not be sent any more, even
    /// if the app has been registered again since.
    case ended(Destination)
    /// It has claimed the device.
    case claimed(DeviceKey, epoch: UInt64)
}
