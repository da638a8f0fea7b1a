import APNSDevice
import ArgumentParser

struct DevicePowerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "power",
        abstract: "Say how a device stands with power: low, awake or charging.",
        discussion: """
            It decides when notifications of priority 5 and 1, and silent ones, come. The service knows it at once, also for \
            a device listen that runs with the same identity, and that one says it again on each new connection.
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
