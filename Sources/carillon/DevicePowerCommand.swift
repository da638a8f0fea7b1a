import APNSDevice
import ArgumentParser

struct DevicePowerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "power",
        abstract: "Report a device's power: low, awake or charging.",
        discussion: """
            The power decides when notifications of priority 5 and 1, and silent ones, come. It takes effect at once, also \
            for a running device listen with the same identity, which reports it again on each new connection.
            """,
    )

    @OptionGroup var common: CommonOptions
    @OptionGroup var device: DeviceOptions

    @Argument(help: "low, awake or charging.", transform: { try choice($0) })
    var power: Device.Power

    func run() async throws {
        let identity = try DeviceIdentity(path: device.identity)
        let client = try device.device(common)
        // First the file: a listener that connects in between says the new one.
        try PowerFile(identity: device.identity).write(power)
        try await client.report(power)
        await client.close()
        Output(isJSON: common.json).print(
            Said(deviceID: identity.deviceID, power: power.rawValue), "The device's power is \(power.rawValue).")
    }

    private struct Said: Encodable {
        let deviceID: String
        let power: String
    }
}
