package import Delivery
import Foundation
import Notifications
import PrivateFiles
import SQLiteStore
import Trust

/// Tells which device tokens the events of the delivery log are about: the log holds what the tokens mean, and the data
/// folder the key that seals them.
package struct DeliveryLogTokens {
    private let folder: String
    private var secrets: FileSecrets?
    private var keys: TokenKeys?
    private var known: [SealedToken: DeviceToken] = [:]

    private struct SealedToken: Hashable {
        let destination: Destination
        let generation: UInt32
        let key: UInt32
    }

    /// How many tokens are remembered, in some 10 MB: sealing one takes a microsecond or two.
    private static let maximumKnown = 65_536

    /// - Throws: where there is a key that cannot be read; without any, no event has a device token.
    package init(_ folder: DataFolder) async throws(ServiceError) {
        self.folder = folder.path + "/" + SQLiteStore.secretsFolderName
        do {
            guard let secrets = try openSecrets() else { return }
            keys = try await TokenKeyRotation.read(from: secrets)
        } catch {
            throw error as? ServiceError ?? ServiceError(.trust, "\(error)")
        }
    }

    /// - Returns: nil where there is no folder of secrets, which nobody but the service makes.
    private mutating func openSecrets() throws(StoreError) -> FileSecrets? {
        if secrets == nil, FileManager.default.fileExists(atPath: folder) { secrets = try FileSecrets(folder: folder) }
        return secrets
    }

    /// The device token that an event is about, as hexadecimal digits.
    /// - Parameter key: which key sealed it; 0 where that is not known.
    package mutating func token(_ address: NotificationSubject.Address, key: UInt32) -> String? {
        switch address {
        case .unknown: return nil
        case .deviceToken(let bytes): return Hexadecimal.string(bytes)
        case .destination(let destination, let generation):
            guard key != 0, generation != 0 else { return nil }
            let sealed = SealedToken(destination: destination, generation: generation, key: key)
            if let token = known[sealed] { return token.description }
            let contents = DeviceTokenContents(
                device: destination.device, app: destination.app, generation: generation)
            let id = TokenKeyID(rawValue: key)
            // A service that runs may get another key, and seal with it, while its log is followed.
            guard
                let token = seal(contents, destination.environment, id)
                    ?? (learn(id) ? seal(contents, destination.environment, id) : nil)
            else { return nil }
            if known.count >= Self.maximumKnown { known.removeAll() }
            known[sealed] = token
            return token.description
        }
    }

    /// - Returns: nil where the key is not known.
    private func seal(
        _ contents: DeviceTokenContents,
        _ environment: Environment,
        _ key: TokenKeyID,
    ) -> DeviceToken? {
        // All that can fail is that there is no such key.
        try? keys?.seal(contents, environment: environment, key: key)
    }

    /// Reads a key that was not there before.
    /// - Returns: whether it is there now; one that is gone leaves its events without a device token.
    private mutating func learn(_ id: TokenKeyID) -> Bool {
        var all = keys?.rawKeys ?? [:]
        guard all[id] == nil, let name = TokenKeyRotation.name(of: id),
            // What cannot be read now may be at the next event.
            let key = try? openSecrets()?.secretNow(name)
        else { return false }
        all[id] = key
        guard let keys = try? TokenKeys(keys: all, current: id) else { return false }
        self.keys = keys
        return true
    }
}
