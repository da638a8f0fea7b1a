import Delivery
import GRDB
import Notifications
import SQLiteSupport
import Synchronization

/// The devices that have subscriptions. Without it, each device that connects would cost an access to the disk, even
/// if it has none.
///
/// Only the writer's thread changes it: after each commit, in the order of the commits.
final class SubscribedDevices: Sendable {
    private let devices: Mutex<Set<DeviceKey>>

    init(_ devices: Set<DeviceKey>) { self.devices = Mutex(devices) }

    static func load(from database: Database) throws(SQLiteFailure) -> SubscribedDevices {
        var devices: Set<DeviceKey> = []
        try database.forEachRow("SELECT DISTINCT environment, device FROM subscription") { row throws(SQLiteFailure) in
            devices.insert(try row.deviceKey())
        }
        return SubscribedDevices(devices)
    }

    func contains(_ device: DeviceKey) -> Bool { devices.withLock { $0.contains(device) } }
    func insert(_ device: DeviceKey) { devices.withLock { _ = $0.insert(device) } }
    func remove(_ device: DeviceKey) { devices.withLock { _ = $0.remove(device) } }
}

extension Row {
    /// Reads a row that begins with the columns environment and device.
    func deviceKey() throws(SQLiteFailure) -> DeviceKey {
        guard let environment = Environment(column: integer(0)) else {
            throw .damaged("a subscription that cannot be")
        }
        return DeviceKey(environment: environment, device: DeviceID(column: integer(1)))
    }
}
