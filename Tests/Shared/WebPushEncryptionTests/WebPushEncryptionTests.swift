import Crypto
import Foundation
import Notifications
import Testing

@testable import WebPushEncryption

/// Web Push's encryption, against the examples of the RFCs and against bytes of strangers.
struct WebPushEncryptionTests {
    private func bytes(_ text: String) throws -> [UInt8] { try #require(Base64URL.decoded(Array(text.utf8)[...])) }

    private func error(_ body: () throws -> Void) -> WebPushEncryptionError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? WebPushEncryptionError)?.code
        }
    }

    // MARK: The examples

    private func keys() throws -> SubscriptionKeys {
        try SubscriptionKeys(privateKey: RFC8291Example.privateKey, auth: RFC8291Example.auth)
    }

    @Test func `The example of RFC 8291, appendix A, is decrypted`() throws {
        let keys = try keys()
        #expect(keys.p256dh == RFC8291Example.publicKey)
        #expect(keys.privateText == RFC8291Example.privateKey && keys.authText == RFC8291Example.auth)
        let text = try keys.decrypt(.aes128gcm(try bytes(RFC8291Example.body)))
        #expect(String(decoding: text, as: UTF8.self) == RFC8291Example.text)
    }

    @Test func `With the key and the salt of RFC 8291, appendix A, the sender makes the same bytes`() throws {
        let sender = try WebPushSender(p256dh: RFC8291Example.publicKey, auth: RFC8291Example.auth)
        let message = try sender.encrypt(
            Array(RFC8291Example.text.utf8), as: .aes128gcm, padding: 0,
            key: try P256.KeyAgreement.PrivateKey(rawRepresentation: try bytes(RFC8291Example.senderKey)),
            salt: try bytes(RFC8291Example.salt))
        #expect(message == .aes128gcm(try bytes(RFC8291Example.body)))
    }

    @Test(arguments: [
        ("I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg", "yqdlZ-tYemfogSmv7Ws5PQ"),
        (
            "uNCkWiNYzKTnBN9ji3-qWAAAABkCYTHOG8chz_gnvgOqdGYovxyjuqRyJFjEDyoF1Fvkj6hQPdPHI51OEUKEpgz3SsLWIqS_uA",
            "BO3ZVPxUlnLORbVGMpbT1Q"
        ),
    ])
    func `The examples of RFC 8188, 3, with one record and with two, are decrypted`(content: String, key: String) throws
    {
        let text = try ContentEncryption.decrypt(try bytes(content), key: try bytes(key))
        #expect(String(decoding: text, as: UTF8.self) == "I am the walrus")
    }

    @Test func `The example of the draft's aesgcm is decrypted`() throws {
        let keys = try SubscriptionKeys(privateKey: DraftExample.privateKey, auth: DraftExample.auth)
        let text = try keys.decrypt(
            .aesgcm(
                try bytes(DraftExample.body), dh: try bytes(DraftExample.dh), salt: try bytes(DraftExample.salt)))
        #expect(String(decoding: text, as: UTF8.self) == DraftExample.text)
    }

    // MARK: There and back

    @Test(arguments: WebPushCoding.allCases, [0, 1, 3, 2000])
    func `What the sender encrypts, the subscription decrypts`(coding: WebPushCoding, padding: Int) throws {
        let keys = SubscriptionKeys()
        let sender = try WebPushSender(p256dh: keys.p256dh, auth: keys.authText)
        for text in [[], Array("x".utf8), [UInt8](repeating: 0, count: 100)] {
            let message = try sender.encrypt(text, as: coding, padding: padding)
            #expect(try keys.decrypt(message) == text)
            #expect(error { _ = try SubscriptionKeys().decrypt(message) } == .notAuthentic)
        }
    }

    @Test(arguments: [(WebPushCoding.aes128gcm, 3993), (.aesgcm, 4078)])
    func `The longest text fills a body of 4,096 bytes, and one more byte is refused`(
        coding: WebPushCoding, longest: Int
    ) throws {
        let keys = SubscriptionKeys()
        let sender = try WebPushSender(publicKey: keys.publicKey, auth: keys.auth)
        let message = try sender.encrypt([UInt8](repeating: 7, count: longest), as: coding)
        #expect(message.body.count == WebPushLimits.bodyBytes)
        #expect(try keys.decrypt(message).count == longest)
        #expect(error { _ = try sender.encrypt([UInt8](repeating: 7, count: longest + 1), as: coding) } == .tooLong)
    }

    // MARK: Bytes of strangers

    @Test func `A body that ends anywhere, or has another byte anywhere, is an error`() throws {
        let keys = try keys()
        let body = try bytes(RFC8291Example.body)
        for length in 0..<body.count {
            let code = error { _ = try keys.decrypt(.aes128gcm(Array(body.prefix(length)))) }
            #expect(code == .truncated || code == .notAuthentic || code == .badKey, "\(length)")
        }
        for index in body.indices {
            var changed = body
            changed[index] ^= 1
            // The record size is not authenticated: it only has to be large enough.
            let isSize = (16..<20).contains(index)
            #expect((error { _ = try keys.decrypt(.aes128gcm(changed)) } == nil) == isSize, "\(index)")
        }
        #expect(error { _ = try keys.decrypt(.aes128gcm([UInt8](repeating: 0, count: 4097))) } == .tooLong)
    }

    @Test(arguments: [
        (0 as UInt32, WebPushEncryptionError.Code?.some(.badRecordSize)), (17, .badRecordSize), (18, .badRecordSize),
        (57, .badRecordSize),
        (58, nil), (UInt32.max, nil),
    ])
    func `A record size is at least 18, and the message is one record`(
        size: UInt32, code: WebPushEncryptionError.Code?
    ) throws {
        var body = try bytes(RFC8291Example.body)
        for index in 0..<4 { body[16 + index] = UInt8(truncatingIfNeeded: size >> (24 - 8 * UInt32(index))) }
        #expect(error { _ = try keys().decrypt(.aes128gcm(body)) } == code)
    }

    @Test
    func `A sender's key that is no point of the curve is refused, also if it is compressed or of another length`()
        throws
    {
        let keys = try keys()
        let body = try bytes(RFC8291Example.body)
        var off = body
        off.replaceSubrange(22..<86, with: [UInt8](repeating: 1, count: 64))
        var compressed = body
        compressed[21] = 2
        for changed in [
            off, compressed, Array(body[..<20] + [0] + body[86...]), Array(body[..<20] + [33] + body[21...]),
        ] {
            #expect(error { _ = try keys.decrypt(.aes128gcm(changed)) } == .badKey)
        }
        let salt = [UInt8](repeating: 0, count: 16)
        for dh in [[], [4], Array(off[21..<86]), [UInt8](repeating: 0, count: 65)] {
            #expect(
                error { _ = try keys.decrypt(.aesgcm([UInt8](repeating: 0, count: 20), dh: dh, salt: salt)) } == .badKey
            )
            #expect(error { _ = try WebPushSender(publicKey: dh, auth: salt) } == .badKey)
        }
    }

    @Test func `Keys, secrets and salts of another length are refused`() throws {
        let key = try bytes(RFC8291Example.privateKey)
        let secret = try bytes(RFC8291Example.auth)
        for wrong in [
            [], Array(key.dropLast()), key + [0], [UInt8](repeating: 0, count: 32), [UInt8](repeating: 255, count: 32),
        ] {
            #expect(error { _ = try SubscriptionKeys(privateKey: wrong, auth: secret) } == .badKey)
        }
        for wrong in [[], Array(secret.dropLast()), secret + [0]] {
            #expect(error { _ = try SubscriptionKeys(privateKey: key, auth: wrong) } == .badSecret)
            #expect(error { _ = try WebPushSender(publicKey: try keys().publicKey, auth: wrong) } == .badSecret)
            let sender = try keys().publicKey
            #expect(error { _ = try keys().decrypt(.aesgcm([], dh: sender, salt: wrong)) } == .badSalt)
        }
        #expect(error { _ = try SubscriptionKeys(privateKey: "§", auth: RFC8291Example.auth) } == .badKey)
    }

    @Test func `Padding that lies is refused`() throws {
        let subscription = SubscriptionKeys()
        let sender = P256.KeyAgreement.PrivateKey()
        let salt = [UInt8](repeating: 3, count: 16)
        let dh = Array(sender.publicKey.x963Representation)
        let keys = try MessageKeys(sender, subscription.privateKey.publicKey, auth: subscription.auth)
        let draft = keys.draft(receiver: subscription.publicKey, sender: dh, salt: salt)
        for record in [[0], [0, 1], [255, 255, 0], [0, 2, 0, 1]] as [[UInt8]] {
            let message = EncryptedMessage.aesgcm(try draft.seal(record), dh: dh, salt: salt)
            #expect(error { _ = try subscription.decrypt(message) } == .badPadding)
        }
        let key = keys.modern(receiver: subscription.publicKey, sender: dh)
        let modern = RecordKeys(
            key: key, salt: salt, info: "Content-Encoding: aes128gcm\0", "Content-Encoding: nonce\0")
        for record in [[0], [1], [7, 1], [7, 3, 0], [0, 0, 0]] as [[UInt8]] {
            let body = salt + [0, 0, 16, 0, 65] + dh + (try modern.seal(record))
            #expect(error { _ = try subscription.decrypt(.aes128gcm(body)) } == .badPadding)
        }
    }
}
