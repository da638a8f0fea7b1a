import APNSDevice
import ArgumentParser

/// The option that selects a device.
struct DeviceOptions: ParsableArguments {
    @Option(help: "The device's identity, a file that carillon device activate made.")
    var identity: String

    /// A device that only makes requests, and does not listen.
    func device(_ common: CommonOptions) throws -> Device {
        try device(common, delegate: Nobody(), listens: false)
    }

    func device(_ common: CommonOptions, delegate: any DeviceDelegate, listens: Bool = true) throws -> Device {
        let file = try DeviceIdentity(path: identity)
        let courier = try common.runningService().courier(file.environment)
        var configuration = Device.Configuration()
        // The file beside the identity lists the notifications that an earlier run has shown, so they are not shown
        // again.
        if listens {
            configuration.received = try FileIdentifiers(path: identity + ".received")
            let power = PowerFile(identity: identity)
            configuration.readPower = { power.read() }
        }
        return try Device(file, at: courier, delegate: delegate, configuration: configuration)
    }
}
