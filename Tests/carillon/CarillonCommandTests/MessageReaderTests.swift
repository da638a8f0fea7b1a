import APNSDevice
import CommandSupport
import CommonTesting
import Foundation
import Notifications
import Testing
import WebPushEncryption

@testable import carillon

/// What `device listen --decrypt` shows of a Web Push message, and the file of keys.
struct MessageReaderTests {
    private func notification(_ message: EncryptedMessage, _ encoding: String?) -> ReceivedNotification {
        func text(_ bytes: [UInt8]) -> String { String(decoding: Base64URL.encoded(bytes), as: UTF8.self) }
        var received = WebPushMessage(subscription: "account", body: message.body, encoding: encoding)
        if case .aesgcm(_, let dh, let salt) = message { (received.dh, received.salt) = (text(dh), text(salt)) }
        return ReceivedNotification(
            id: UUID().uuidString, bundleID: "com.example.app", webPush: received)
    }

    @Test(arguments: WebPushCoding.allCases) func `A message is read with the keys of its subscription`(
        coding: WebPushCoding
    ) throws {
        let (own, other) = (SubscriptionKeys(), SubscriptionKeys())
        let sender = try WebPushSender(p256dh: own.p256dh, auth: own.authText)
        let message = notification(try sender.encrypt(Array("Grüße".utf8), as: coding), coding.rawValue)
        #expect(MessageReader(keys: [other, own]).text(message) == "Grüße")
        #expect(MessageReader(keys: [other]).text(message) == nil)
        #expect(MessageReader(keys: []).text(message) == nil)
    }

    @Test func `A message that is not encrypted, or not as it says, has no text`() throws {
        let keys = SubscriptionKeys()
        let reader = MessageReader(keys: [keys])
        let message = EncryptedMessage.aes128gcm(Array("plain".utf8))
        for encoding in [nil, "aes128gcm", "aesgcm", "gzip"] as [String?] {
            #expect(reader.text(notification(message, encoding)) == nil)
        }
        let alert = ReceivedNotification(
            id: UUID().uuidString, topic: "com.example.app", bundleID: "com.example.app", payload: Array("{}".utf8))
        #expect(reader.text(alert) == nil)
    }

    @Test func `The file of keys is read again, and another file is an error`() async throws {
        try await withTemporaryPath { path in
            let keys = SubscriptionKeys()
            let file = SubscriptionKeyFile(endpoint: "https://push.example/wp/x", keys)
            try Data(try JSONValue(encoding: file).text.utf8).write(to: URL(fileURLWithPath: path))
            #expect(try SubscriptionKeyFile.keys(path).privateText == keys.privateText)
            for text in ["", "{}", #"{"endpoint":"","p256dh":"","auth":"AA","privateKey":"AA"}"#] {
                try Data(text.utf8).write(to: URL(fileURLWithPath: path))
                #expect(throws: CommandError.self) { try SubscriptionKeyFile.keys(path) }
            }
        }
    }
}
