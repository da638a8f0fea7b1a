import APNSDevice
import CommandSupport

/// The devices of a fleet. A device's identity is read from the file only when the device connects, because all
/// 10,000 would take 20 MB of memory.
struct FleetRoster: Sendable {
    let file: FleetFile
    var places: [Range<Int>] = []

    /// The number of devices.
    var count: Int { places.count }

    /// A device's identity.
    func identity(_ index: Int) throws -> DeviceIdentity {
        guard let identity = try file.identity(at: places[index]) else {
            throw CommandError("The file of the fleet's identities was changed by another program.")
        }
        return identity
    }
}
