import APNSDevice
import ArgumentParser

/// Which device it is about.
struct DeviceOptions: ParsableArguments {
    @Option(help: "The device's identity, a file that carillon device activate made.")
    var identity: String

    /// The device, for requests alone.
    func device(_ common: CommonOptions) throws -> Device {
        try device(common, delegate: Nobody(), listens: false)
    }

    func device(_ common: CommonOptions, delegate: any DeviceDelegate, listens: Bool = true) throws -> Device {
        let file = try DeviceIdentity(path: identity)
        let courier = try common.runningService().courier(file.environment.inService)
        var configuration = Device.Configuration()
        // Beside the identity, which is the device: what was shown in an earlier run is not shown again.
        if listens {
            configuration.received = try FileIdentifiers(path: identity + ".received")
            let power = PowerFile(identity: identity)
            configuration.readPower = { power.read() }
        }
        return try Device(file, at: courier, delegate: delegate, configuration: configuration)
    }
}
