import CommonTesting
import Foundation
import Notifications
import Testing
import WebPushEncryption

/// The code for a phone in docs/web-push.md decrypts what its template makes of a message.
struct WebPushPageTests {
    private static func page() throws -> String { try Repository.text("docs/web-push.md") }

    private func bytes(_ text: String) throws -> [UInt8] { try #require(Base64URL.decoded(Array(text.utf8)[...])) }

    private func keys(_ privateKey: String, _ auth: String) throws -> WebPushKeys {
        try WebPushKeys(stored: Data(bytes(privateKey) + bytes(auth)))
    }

    /// The keys beside `aps` that a phone gets with the template of the page, whose parts are in z85.
    private func userInfo(_ parts: [String: String]) throws -> [AnyHashable: Any] {
        let blocks = try Self.page().components(separatedBy: "```json\n").dropFirst().map {
            $0.components(separatedBy: "```")[0]
        }
        let block = try #require(blocks.first { $0.contains(#""as": "z85""#) })
        let template = try #require(try JSONSerialization.jsonObject(with: Data(block.utf8)) as? [String: Any])
        var userInfo: [AnyHashable: Any] = [:]
        for (key, value) in template {
            guard let value = value as? [String: Any], let part = value["$webPush"] as? String else { continue }
            // Keys and bytes are in z85, and the names as they are.
            #expect((value["as"] as? String == "z85") == ["body", "dh", "salt"].contains(part), "\(key)")
            userInfo[key] = parts[part]
        }
        return userInfo
    }

    private func userInfo(_ message: EncryptedMessage) throws -> [AnyHashable: Any] {
        func z85(_ bytes: [UInt8]) -> String { String(decoding: Z85.encoded(bytes), as: UTF8.self) }
        switch message {
        case .aes128gcm(let body): return try userInfo(["body": z85(body), "encoding": "aes128gcm"])
        case .aesgcm(let body, let dh, let salt):
            return try userInfo(["body": z85(body), "encoding": "aesgcm", "dh": z85(dh), "salt": z85(salt)])
        }
    }

    @Test func `The page has the code that is compiled here`() throws {
        let code = try Repository.text("Tests/Shared/WebPushEncryptionTests/WebPushKeys.swift")
        #expect(try Self.page().contains("```swift\n" + code + "```\n"))
    }

    @Test func `It decrypts the example of RFC 8291, appendix A, also if the body was fetched`() throws {
        let keys = try keys(RFC8291Example.privateKey, RFC8291Example.auth)
        #expect(keys.p256dh == RFC8291Example.publicKey && keys.authText == RFC8291Example.auth)
        let body = try bytes(RFC8291Example.body)
        #expect(try keys.text(userInfo(.aes128gcm(body))) == Data(RFC8291Example.text.utf8))
        let empty = try userInfo(["fetch": "https://push.example.com/wp/f/x", "encoding": "aes128gcm"])
        #expect(empty["messageURL"] as? String == "https://push.example.com/wp/f/x")
        #expect(try keys.text(empty, fetched: Data(body)) == Data(RFC8291Example.text.utf8))
        #expect(throws: WebPushKeys.Unreadable.self) { try keys.text(empty) }
    }

    @Test func `It decrypts the example of the draft's aesgcm`() throws {
        let keys = try keys(DraftExample.privateKey, DraftExample.auth)
        let message = EncryptedMessage.aesgcm(
            try bytes(DraftExample.body), dh: try bytes(DraftExample.dh), salt: try bytes(DraftExample.salt))
        #expect(try keys.text(userInfo(message)) == Data(DraftExample.text.utf8))
    }

    @Test(arguments: WebPushCoding.allCases, [0, 1, 300])
    func `It decrypts what is sent to new keys, with each padding`(coding: WebPushCoding, padding: Int) throws {
        let made = WebPushKeys()
        let keys = try WebPushKeys(stored: made.stored)
        let sender = try WebPushSender(p256dh: made.p256dh, auth: made.authText)
        for text in [[], [0], [UInt8](repeating: 7, count: 2000)] {
            #expect(try keys.text(userInfo(try sender.encrypt(text, as: coding, padding: padding))) == Data(text))
        }
    }

    /// Whoever has the endpoint chooses these bytes.
    @Test(arguments: WebPushCoding.allCases)
    func `A body that ends anywhere is an error, and does not end the extension`(coding: WebPushCoding) throws {
        let keys = WebPushKeys()
        let sender = try WebPushSender(p256dh: keys.p256dh, auth: keys.authText)
        let message = try sender.encrypt([1, 2, 3], as: coding, padding: 0)
        for length in 0..<message.body.count {
            #expect(throws: (any Error).self, "\(length)") {
                try keys.text(userInfo(message), fetched: Data(message.body.prefix(length)))
            }
        }
        #expect(throws: (any Error).self) { try keys.text(["message": "~", "encoding": coding.rawValue]) }
        #expect(throws: (any Error).self) { try keys.text([:]) }
        #expect(throws: (any Error).self) { try WebPushKeys(stored: Data([1, 2, 3])) }
    }
}
