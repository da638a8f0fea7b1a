import APNSDevice
import ArgumentParser
import CommandSupport

struct DevicePowerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "power",
        abstract: "Report a device's power: low, awake or charging.",
        discussion: """
            The power decides when the device gets notifications of priority 5 and 1, and silent ones. It takes effect \
            at once. A running device listen with the same identity reports it again on each new connection.
            """,
    )

    @OptionGroup var common: CommonOptions
    @OptionGroup var device: DeviceOptions

    @Argument(help: "low, awake or charging.", transform: { try choice($0) })
    var power: Device.Power

    func run() async throws {
        let identity = try DeviceIdentity(path: device.identity)
        let client = try device.device(common)
        // Write the file first: a listener that connects meanwhile then reports the new value.
        try PowerFile(identity: device.identity).write(power)
        try await client.report(power)
        await client.close()
        common.output.print(
            ["deviceID": identity.deviceID, "power": power.rawValue], "The device's power is \(power.rawValue).")
    }
}
