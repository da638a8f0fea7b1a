import APNSDevice
import ArgumentParser
import CommandSupport
import Service

struct DeviceResetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Give all apps of a device new device tokens, which they get when they register again.",
    )

    @OptionGroup var common: CommonOptions
    @OptionGroup var device: DeviceOptions

    func run() async throws {
        let identity = try DeviceIdentity(path: device.identity)
        let client = try device.device(common)
        try await client.reset()
        await client.close()
        common.output.print(
            ["deviceID": identity.deviceID, "path": DataFolder(device.identity).path],
            "The device's apps get new device tokens when they register.")
    }
}
