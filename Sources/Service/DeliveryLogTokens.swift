package import Delivery
import Foundation
import Notifications
import SQLiteStore
import Trust

/// Tells which device tokens the events of the delivery log are about: the log holds what the tokens mean, and the data
/// folder the key that seals them.
package struct DeliveryLogTokens {
    private let keys: TokenKeys?
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
        let secrets = folder.path + "/" + SQLiteStore.secretsFolderName
        guard FileManager.default.fileExists(atPath: secrets) else {
            keys = nil
            return
        }
        do {
            keys = try await TokenKeyRotation.read(from: try FileSecrets(folder: secrets))
        } catch {
            throw error as? ServiceError ?? ServiceError(.trust, "\(error)")
        }
    }

    /// The device token that an event is about, as hexadecimal digits.
    /// - Parameter key: which key sealed it; 0 where that is not known.
    package mutating func token(_ address: NotificationSubject.Address, key: UInt32) -> String? {
        switch address {
        case .unknown: return nil
        case .deviceToken(let bytes): return Hexadecimal.string(bytes)
        case .destination(let destination, let generation):
            guard let keys, key != 0, generation != 0 else { return nil }
            let sealed = SealedToken(destination: destination, generation: generation, key: key)
            if let token = known[sealed] { return token.description }
            let contents = DeviceTokenContents(
                device: destination.device, app: destination.app, generation: generation)
            // A key that is gone leaves the event without a token.
            guard
                let token = try? keys.seal(
                    contents, environment: destination.environment, key: TokenKeyID(rawValue: key))
            else { return nil }
            if known.count >= Self.maximumKnown { known.removeAll() }
            known[sealed] = token
            return token.description
        }
    }
}
