import APNSDevice
import Connections
import Foundation
import Logging
import NIOCore
import Notifications
import PrivateFiles
import Storage

/// Finds the device's identity: the one in the agent's folder, one that was provisioned, or a new one.
enum AgentIdentity {
    /// The delays between attempts to activate the device, for example while the network is not up yet.
    private static let delay = GrowingDelay(first: .seconds(1), longest: .seconds(60))

    /// The service refuses the activation code of the first start.
    struct RefusedCode: Error {
        /// Nil if there was none.
        let code: String?
        let error: AgentError
    }

    /// The identity at the start.
    /// - Returns: a failure if the service refuses the activation code, and the file with the code may get another one.
    /// - Throws: ``AgentError`` if another attempt cannot help.
    static func load(
        _ settings: AgentSettings, _ logger: Logger
    ) async throws -> Result<DeviceIdentity, RefusedCode> {
        let own = settings.ownIdentityFile
        let kept = FileManager.default.fileExists(atPath: own) ? try DeviceIdentity(path: own) : nil
        // Once the agent has its copy, the file may be gone.
        if let file = settings.identityFile, kept == nil || FileManager.default.fileExists(atPath: file) {
            let given = try DeviceIdentity(path: file)
            // The agent renews its own copy. So the file is used again only if it is another device's.
            if let kept, kept.deviceID == given.deviceID { return .success(kept) }
            try given.write(to: own)
            logger.notice("Took the device's identity", metadata: ["device": "\(given.deviceID)"])
            return .success(given)
        }
        if let kept { return .success(kept) }
        let code = try settings.currentCode()
        do {
            return .success(try await activate(settings, with: code, logger))
        } catch let error as AgentError where error.code == .activation && settings.codeFile != nil {
            return .failure(RefusedCode(code: code, error: error))
        }
    }

    /// Why the service has refused a code; nil if it has not, as far as the agent knows.
    static func refusal(of code: String, _ settings: AgentSettings) -> String? {
        guard let file = try? Files.open(settings.refusedCodeFile, O_RDONLY),
            let bytes = try? Files.read(file, upTo: refusalBytes, of: settings.refusedCodeFile)
        else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", maxSplits: 1)
        guard lines.count == 2, lines[0] == digest(code) else { return nil }
        return String(lines[1])
    }

    /// The largest size of the file with a refusal, in bytes: a digest and the service's sentence.
    private static let refusalBytes = 10_000

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
        let made: DeviceIdentity
        do {
            made = try await ask(settings, code, key, logger)
        } catch let error as AgentError where error.code == .activation {
            // It is for the doctor alone.
            if let code {
                let text = digest(code) + "\n" + String(error.cause.prefix(refusalBytes / 8))
                _ = try? Files.make(settings.refusedCodeFile, Array(text.utf8), replacing: true)
            }
            throw error
        }
        try made.write(to: settings.ownIdentityFile)
        try? Files.remove(settings.refusedCodeFile)
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
        let text = String(decoding: JSONValue.withoutMark(bytes), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        return text.isEmpty ? nil : text
    }
}
