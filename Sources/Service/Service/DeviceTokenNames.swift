package import Delivery
import Foundation
import Notifications
import PrivateFiles
import SQLiteStore
import Synchronization
import Trust

/// Finds the device tokens that the delivery log's entries are about. The log contains only what a token seals; this
/// seals it again with the token keys.
package final class DeviceTokenNames: Sendable {
    private struct SealedToken: Hashable {
        let destination: Destination
        let generation: UInt32
        let key: UInt32
    }

    private struct State {
        var keys: TokenKeys?
        var known: [SealedToken: String] = [:]
    }

    /// The number of device tokens to remember, which take about 10 MB. Sealing one again takes one or two
    /// microseconds.
    private static let maximumKnown = 65_536

    /// Returns the current keys. It is called again if an entry names an unknown key.
    private let readKeys: @Sendable () -> TokenKeys?
    private let state: Mutex<State>

    init(_ readKeys: @escaping @Sendable () -> TokenKeys?) {
        self.readKeys = readKeys
        state = Mutex(State(keys: readKeys()))
    }

    /// Reads the keys from a data folder, for a command that reads the log while no service runs.
    /// - Throws: If a key cannot be read. If the folder has no keys, this does not fail, and no entry gets a device
    ///   token.
    package convenience init(_ folder: DataFolder) async throws(ServiceError) {
        let path = folder.path + "/" + SQLiteStore.secretsFolderName
        do {
            // Do not create the folder here, because only the service does that.
            let isThere = FileManager.default.fileExists(atPath: path)
            let keys = isThere ? try await TokenKeyRotation.read(from: FileSecrets(folder: path)) : nil
            self.init { keys }
        } catch {
            throw error as? ServiceError ?? ServiceError(.trust, DataFolder.reason(error))
        }
    }

    /// The device token that an entry is about, as hexadecimal digits.
    /// - Parameter key: the number of the key that sealed the token; 0 if that is not known.
    /// - Returns: nil if the token is not known.
    package func token(_ address: NotificationSubject.Address, key: UInt32) -> String? {
        switch address {
        case .unknown: return nil
        case .deviceToken(let bytes): return Hexadecimal.string(bytes)
        case .destination(let destination, let generation):
            guard key != 0, generation != 0 else { return nil }
            return token(SealedToken(destination: destination, generation: generation, key: key))
        }
    }

    private func token(_ token: SealedToken) -> String? {
        state.withLock { state in
            if let known = state.known[token] { return known }
            if Self.seal(token, state.keys) == nil { state.keys = readKeys() }
            guard let name = Self.seal(token, state.keys) else { return nil }
            if state.known.count >= Self.maximumKnown { state.known.removeAll() }
            state.known[token] = name
            return name
        }
    }

    /// - Returns: nil if the key is not known.
    private static func seal(_ token: SealedToken, _ keys: TokenKeys?) -> String? {
        let contents = DeviceTokenContents(
            device: token.destination.device, app: token.destination.app, number: token.generation)
        // It fails only if the key is missing.
        let sealed = try? keys?.seal(
            contents, environment: token.destination.environment, key: TokenKeyID(rawValue: token.key))
        return sealed?.description
    }
}
