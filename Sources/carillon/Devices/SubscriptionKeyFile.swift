import APNSDevice
import CommandSupport
import Foundation
import Notifications
import WebPushEncryption

/// The file with the keys of a subscription to Web Push: `carillon device subscribe` writes it, and `device listen --decrypt` reads it.
struct SubscriptionKeyFile: Codable, Sendable {
    let endpoint: String
    let p256dh: String
    let auth: String
    let privateKey: String

    init(endpoint: String, _ keys: SubscriptionKeys) {
        self.endpoint = endpoint
        (p256dh, auth, privateKey) = (keys.p256dh, keys.authText, keys.privateText)
    }

    /// Reads the keys of a file.
    static func keys(_ path: String) throws -> SubscriptionKeys {
        let data = try InputFile.read(path, "file of keys")
        guard let file: Self = try? JSONValue(document: Array(data), maximumDepth: Payload.maximumDepth).decoded()
        else {
            throw CommandError(
                "\(path) does not contain the keys of a subscription; carillon device subscribe makes it.")
        }
        do {
            return try SubscriptionKeys(privateKey: file.privateKey, auth: file.auth)
        } catch {
            throw CommandError("\(path) cannot be used: \(error.cause)")
        }
    }
}

/// Decrypts the messages that a device receives, with the keys of some subscriptions.
struct MessageReader: Sendable {
    let keys: [SubscriptionKeys]

    /// What is inside a message.
    /// - Returns: nil if it is no Web Push message, is not encrypted, was encrypted for another subscription, or is not UTF-8.
    func text(_ notification: ReceivedNotification) -> String? {
        guard let webPush = notification.webPush,
            let message = EncryptedMessage(
                webPush.body, encoding: webPush.encoding, dh: webPush.dh, salt: webPush.salt)
        else { return nil }
        return keys.lazy.compactMap { $0.text(of: message) }.first
    }
}
