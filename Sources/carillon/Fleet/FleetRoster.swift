import APNSDevice

/// The devices of a fleet. An identity is read when its device connects, because 10,000 of them would take 20 MB of
/// memory.
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
