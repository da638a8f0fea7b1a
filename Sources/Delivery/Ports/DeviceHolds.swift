package import Notifications

/// Says which node holds a device's stream, and tells a node what others have changed for its devices. A store that
/// several nodes use has it.
///
/// A node takes a device before it reads the device's mailboxes. A node that changes a destination of a device that
/// another node holds leaves an announcement for that node, in the same transaction. So of a node that attaches a
/// stream and a node that stores a notification, one sees the other.
package protocol DeviceHolds: Sendable {
    /// Makes this node the holder of the devices. The former holder gets an announcement.
    /// - Returns: A hold for each device, in the same order.
    func take(_ devices: [DeviceKey]) async throws(StoreError) -> [DeviceHold]

    /// Gives devices up, unless another node has taken them since.
    func release(_ holds: [DeviceHold]) async throws(StoreError)

    /// Returns and removes announcements for this node. If it fails, they may be lost.
    /// - Parameter limit: the largest number; less are returned if there are no more.
    func takeAnnouncements(limit: Int) async throws(StoreError) -> [Announcement]

    /// Where devices are that other nodes hold, as far as the store has said.
    var whereabouts: DeviceWhereabouts { get }

    /// Grows each time when this node could not renew its right to hold devices. It then holds none any more.
    var holdTerm: UInt64 { get }
}

/// The hold of a node on a device.
package struct DeviceHold: Sendable, Hashable {
    package let device: DeviceKey
    /// It grows each time when a node takes the device.
    package let epoch: UInt64
    /// The attempts of the stream get numbers above this one, which is above those of all earlier streams.
    package let previousNumber: UInt64

    package init(device: DeviceKey, epoch: UInt64, previousNumber: UInt64) {
        self.device = device
        self.epoch = epoch
        self.previousNumber = previousNumber
    }

    /// The first number of a stream that is taken at this time of the store's clock. It is ahead of the clocks of all
    /// nodes, which may differ from the store's by ten seconds, so streams of all nodes have numbers in their order.
    package static func previousNumber(at time: Timestamp) -> UInt64 {
        let ahead = time.milliseconds.addingReportingOverflow(20_000)
        let number = ahead.partialValue.multipliedReportingOverflow(by: DeviceLine.numbersPerMillisecond)
        return ahead.overflow || number.overflow ? 0 : number.partialValue
    }
}

/// What another node has done.
package enum Announcement: Sendable, Hashable {
    /// It has stored a notification or has ended the registration.
    case changed(Destination)
    /// It has taken the device.
    case taken(DeviceKey, epoch: UInt64)
}
