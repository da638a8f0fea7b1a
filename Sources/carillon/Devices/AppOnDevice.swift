import APNSDevice
import ArgumentParser

/// The options that select an app on a device.
struct AppOnDevice: ParsableArguments {
    @OptionGroup var common: CommonOptions
    @OptionGroup var device: DeviceOptions

    @Option(name: .customLong("bundle-id"), help: "The app's bundle ID.")
    var bundleID: String

    /// Makes one request as the device, and then closes the connection.
    func ask<Answer>(_ request: (Device, String) async throws -> Answer) async throws -> Answer {
        let device = try device.device(common)
        let answer = try await request(device, bundleID)
        await device.close()
        return answer
    }
}
