import APNSDevice
import Foundation
import Notifications
import ServiceLifecycle

/// Keeps a device connected, prints its notifications and acknowledges them.
struct DeviceListener: Service {
    let common: CommonOptions
    let options: DeviceOptions
    let bundleIDs: [String]

    func run() async throws {
        let output = Output(isJSON: common.json)
        let device = try options.device(common, delegate: PrintingApp(output: output))
        for bundleID in bundleIDs {
            let token = try await device.register(bundleID)
            output.print(
                Registered(bundleID: bundleID, token: token), "Registered \(bundleID), device token \(token)")
        }
        try await withGracefulShutdownHandler {
            try await device.run()
        } onGracefulShutdown: {
            // What was printed is acknowledged, and then `run` ends.
            Task { await device.close() }
        }
    }

    private struct Registered: Encodable {
        let event = "registered"
        let bundleID: String
        let token: String
    }
}
