package import APNSDevice
import Connections
import Foundation
package import Logging
import NIOCore

/// Finds the device's identity at the start: the one in the agent's folder, one that was provisioned, or a new one.
package enum AgentIdentity {
    /// The delays between attempts to activate the device, for example while the network is not up yet.
    private static let delay = GrowingDelay(first: .seconds(1), longest: .seconds(60))

    /// - Throws: ``AgentError`` if another attempt cannot help.
    package static func load(_ settings: AgentSettings, _ logger: Logger) async throws -> DeviceIdentity {
        let own = settings.ownIdentityFile
        let kept = FileManager.default.fileExists(atPath: own) ? try DeviceIdentity(path: own) : nil
        // Once the agent has its copy, the file may be gone.
        if let file = settings.identityFile, kept == nil || FileManager.default.fileExists(atPath: file) {
            let given = try DeviceIdentity(path: file)
            // The agent renews its own copy. So the file is used again only if it is another device's.
            if let kept, kept.deviceID == given.deviceID { return kept }
            try given.write(to: own)
            logger.notice("Took the device's identity", metadata: ["device": "\(given.deviceID)"])
            return given
        }
        if let kept { return kept }
        let made = try await activate(settings, logger)
        try made.write(to: own)
        logger.notice("Activated the device", metadata: ["device": "\(made.deviceID)"])
        return made
    }

    private static func activate(_ settings: AgentSettings, _ logger: Logger) async throws -> DeviceIdentity {
        var failures = 0
        while true {
            do throws(DeviceError) {
                return try await DeviceIdentity.activate(
                    at: settings.courier, environment: settings.environment, code: settings.code)
            } catch {
                guard error.isTemporary else {
                    throw AgentError(.activation, "The device cannot be activated: \(error.cause)")
                }
                failures += 1
                logger.warning("The device cannot be activated yet", metadata: ["cause": "\(error.cause)"])
                let wait = delay.delay(afterFailures: failures, random: .random(in: 0...1))
                try await Task.sleep(for: .nanoseconds(wait.nanoseconds))
            }
        }
    }
}
