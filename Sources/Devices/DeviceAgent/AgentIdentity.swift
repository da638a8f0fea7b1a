package import APNSDevice
import Connections
import Foundation
package import Logging
import NIOCore
import Notifications
import PrivateFiles
import Storage

/// Finds the device's identity: the one in the agent's folder, one that was provisioned, or a new one.
package enum AgentIdentity {
    /// The delays between attempts to activate the device, for example while the network is not up yet.
    private static let delay = GrowingDelay(first: .seconds(1), longest: .seconds(60))

    /// The identity at the start.
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
        return try await activate(settings, with: try settings.currentCode(), logger)
    }

    /// The activation code, if it has not made the present identity; nil if there is no other one.
    static func otherCode(_ settings: AgentSettings) throws(AgentError) -> String? {
        guard let code = try settings.currentCode(), usedCode(settings) != digest(code) else { return nil }
        return code
    }

    /// Activates the device. The private key is on the disk before the service uses the code up: if the answer is lost, the same
    /// code with the same key gets the same certificate.
    /// - Throws: ``AgentError`` if the service refuses the code.
    static func activate(
        _ settings: AgentSettings, with code: String?, _ logger: Logger
    ) async throws -> DeviceIdentity {
        let key = try ActivationKey(file: settings.activationKeyFile)
        let made = try await ask(settings, code, key, logger)
        try made.write(to: settings.ownIdentityFile)
        // Only the identity matters. Without this file, an agent whose identity is refused tries a used code once more.
        if let code { _ = try? Files.make(settings.usedCodeFile, Array(digest(code).utf8), replacing: true) }
        ActivationKey.remove(settings.activationKeyFile)
        logger.notice("Activated the device", metadata: ["device": "\(made.deviceID)"])
        return made
    }

    private static func ask(
        _ settings: AgentSettings, _ code: String?, _ key: ActivationKey, _ logger: Logger
    ) async throws -> DeviceIdentity {
        var failures = 0
        while true {
            do throws(DeviceError) {
                return try await DeviceIdentity.activate(
                    at: settings.courier, environment: settings.environment, code: code, key: key)
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

    private static func digest(_ code: String) -> String { Hexadecimal.string(ActivationKey.digest(ofCode: code)) }

    /// The digest of the code that made the identity; nil if it is not known, for example because an earlier release made it.
    private static func usedCode(_ settings: AgentSettings) -> String? {
        guard let file = try? Files.open(settings.usedCodeFile, O_RDONLY) else { return nil }
        return (try? Files.read(file, upTo: 64, of: settings.usedCodeFile)).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension AgentSettings {
    /// The largest size of a file with an activation code, in bytes. A code has 20, and people add line breaks.
    private static let codeFileBytes = 1000

    /// The activation code as it is now; nil if there is none.
    /// - Throws: ``AgentError`` if its file is not there or is no text.
    func currentCode() throws(AgentError) -> String? {
        if let code { return code }
        guard let codeFile else { return nil }
        let bytes: [UInt8]
        do {
            bytes = try Files.read(try Files.open(codeFile, O_RDONLY), upTo: Self.codeFileBytes, of: codeFile)
        } catch {
            throw AgentError(.badSetting, "The file with the activation code cannot be used: \(error.cause)")
        }
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return text.isEmpty ? nil : text
    }
}
