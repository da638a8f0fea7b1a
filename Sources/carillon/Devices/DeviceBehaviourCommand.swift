import ArgumentParser
import CommandSupport
import HTTPAPIClient
import Management
import Matching
import Notifications
import VirtualDevices

/// Lists the devices of the service.
struct DeviceListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List all devices.")

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let devices: [ManagementMessages.Device] = try await common.management().list(
            "/v1/devices", name: \.deviceID
        ) { nodes in
            Output.printDiagnostic(
                "The devices that are connected to these nodes are shown as not connected, because the nodes did not answer: "
                    + nodes.sorted().joined(separator: ", "))
        }
        for device in devices { common.output.print(device, device.line) }
    }
}

/// Gives a virtual device another behaviour.
struct DeviceBehaveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "behave", abstract: "Give a virtual device another behaviour.")

    @OptionGroup var common: CommonOptions

    @Argument(help: "The device's ID.")
    var device: String

    @Argument(help: "online, slow, offline, silent, removed or expired.")
    var behaviour: String

    @Option(help: "For slow: how many seconds the device takes to acknowledge.")
    var delay: Double?

    @Option(help: "For removed: since when, in milliseconds since 1970.")
    var since: UInt64?

    func validate() throws {
        guard DeviceBehaviour.Kind(rawValue: behaviour) != nil else {
            let kinds = DeviceBehaviour.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("The behaviour is \(behaviour); it takes one of \(kinds).")
        }
        if let delay, !(0...Double(VirtualDeviceLimits.delay.components.seconds)).contains(delay) {
            throw ValidationError("The delay is \(delay); it takes at most an hour.")
        }
    }

    func run() async throws {
        let delay = delay.map { Duration.milliseconds(Int64($0 * 1000)).iso8601 }  // fits: an hour at most
        let change = ManagementMessages.ChangedDevice(
            behaviour: ManagementMessages.Behaviour(kind: behaviour, delay: delay, since: since))
        let changed: ManagementMessages.Device = try await common.management().ask(
            .PATCH, itemPath("/v1/devices", device, "The device's ID"), change)
        common.output.print(changed, changed.line)
    }
}

extension ManagementMessages.Device {
    fileprivate var line: String {
        let connection =
            connected
            ? "connected" + (since.map { " since \(dateText(milliseconds: $0))" } ?? "")
            : "not connected" + (lastSeen.map { ", last seen \(dateText(milliseconds: $0))" } ?? "")
        let apps = apps.map { app in
            "\(app.bundleID) \(app.token)" + (app.waiting == 0 ? "" : " (\(app.waiting) waiting)")
        }
        let parts = [deviceID, name, environment, behaviour.map { "virtual, \($0.kind)" }, connection, power, software]
        return (parts.compactMap(\.self) + [apps.joined(separator: ", ")]).joined(separator: "  ")
    }
}
