import Crypto
import Foundation

/// What an app's notification service extension does with a message of Web Push. It is written from RFC 8291, RFC 8188, the draft before
/// them and ZeroMQ's RFC 32 alone, and shares no line with the service.
struct PhoneExtension {
    private let key = P256.KeyAgreement.PrivateKey()
    private let auth = (0..<16).map { _ in UInt8.random(in: 0...255) }

    private var publicKey: [UInt8] { Array(key.publicKey.x963Representation) }
    /// The public key and the secret, as a server takes them.
    var p256dh: String { Self.base64URL(publicKey) }
    var secret: String { Self.base64URL(auth) }

    /// Decrypts `aes128gcm`.
    func text(_ body: [UInt8]) throws -> String {
        guard body.count > 86, body[20] == 65 else { throw Unreadable() }
        let (salt, sender) = (Array(body[..<16]), Array(body[21..<86]))
        let input = try input(sender, Array("WebPush: info\0".utf8) + publicKey + sender)
        var record = try Self.open(
            Array(body[86...]), input, salt, Array("Content-Encoding: aes128gcm\0".utf8),
            Array("Content-Encoding: nonce\0".utf8))
        while record.last == 0 { record.removeLast() }
        guard record.popLast() == 2 else { throw Unreadable() }
        return String(decoding: record, as: UTF8.self)
    }

    /// Decrypts `aesgcm`.
    func text(_ body: [UInt8], dh sender: [UInt8], salt: [UInt8]) throws -> String {
        let input = try input(sender, Array("Content-Encoding: auth\0".utf8))
        let context = Self.context(publicKey, sender)
        let record = try Self.open(
            body, input, salt, Array("Content-Encoding: aesgcm\0".utf8) + context,
            Array("Content-Encoding: nonce\0".utf8) + context)
        guard record.count >= 2, record[0] == 0, record[1] == 0 else { throw Unreadable() }
        return String(decoding: record[2...], as: UTF8.self)
    }

    /// Encrypts as a server does that speaks the draft alone.
    func draft(_ text: String) throws -> (body: [UInt8], dh: [UInt8], salt: [UInt8]) {
        let server = P256.KeyAgreement.PrivateKey()
        let (sender, salt) = (
            Array(server.publicKey.x963Representation), (0..<16).map { _ in UInt8.random(in: 0...255) }
        )
        let input = try server.sharedSecretFromKeyAgreement(with: key.publicKey).hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: auth, sharedInfo: Array("Content-Encoding: auth\0".utf8), outputByteCount: 32)
        let context = Self.context(publicKey, sender)
        let sealed = try AES.GCM.seal(
            [0, 0] + Array(text.utf8),
            using: SymmetricKey(
                data: Self.derived(input, salt, Array("Content-Encoding: aesgcm\0".utf8) + context, 16)),
            nonce: AES.GCM.Nonce(data: Self.derived(input, salt, Array("Content-Encoding: nonce\0".utf8) + context, 12))
        )
        return (Array(sealed.ciphertext + sealed.tag), sender, salt)
    }

    private func input(_ sender: [UInt8], _ info: [UInt8]) throws -> SymmetricKey {
        let other = try P256.KeyAgreement.PublicKey(x963Representation: sender)
        return try key.sharedSecretFromKeyAgreement(with: other).hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: auth, sharedInfo: info, outputByteCount: 32)
    }

    private static func open(
        _ sealed: [UInt8], _ input: SymmetricKey, _ salt: [UInt8], _ key: [UInt8], _ nonce: [UInt8]
    ) throws -> [UInt8] {
        let box = try AES.GCM.SealedBox(
            nonce: AES.GCM.Nonce(data: derived(input, salt, nonce, 12)), ciphertext: sealed.dropLast(16),
            tag: sealed.suffix(16))
        return Array(try AES.GCM.open(box, using: SymmetricKey(data: derived(input, salt, key, 16))))
    }

    private static func derived(_ input: SymmetricKey, _ salt: [UInt8], _ info: [UInt8], _ count: Int) -> [UInt8] {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: input, salt: salt, info: info, outputByteCount: count)
            .withUnsafeBytes { Array($0) }
    }

    private static func context(_ receiver: [UInt8], _ sender: [UInt8]) -> [UInt8] {
        Array("P-256\0".utf8) + [0, 65] + receiver + [0, 65] + sender
    }

    struct Unreadable: Error {}

    // MARK: Texts

    static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    static func bytes(base64URL text: String) throws -> [UInt8] {
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: text.replacing("-", with: "+").replacing("_", with: "/") + padding) else {
            throw Unreadable()
        }
        return Array(data)
    }

    private static let digits = Array(
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#".utf8)

    /// Five digits are four bytes, and at the end one digit more than there are bytes.
    static func bytes(z85 text: String) throws -> [UInt8] {
        var (bytes, rest) = ([UInt8](), Array(text.utf8)[...])
        while !rest.isEmpty {
            let group = rest.prefix(5)
            rest = rest.dropFirst(5)
            var number: UInt64 = 0
            for digit in group {
                guard let value = digits.firstIndex(of: digit) else { throw Unreadable() }
                number = number * 85 + UInt64(value)
            }
            guard group.count > 1, number < 1 << UInt64(8 * (group.count - 1)) else { throw Unreadable() }
            for index in (0..<group.count - 1).reversed() {
                bytes.append(UInt8(truncatingIfNeeded: number >> (8 * index)))
            }
        }
        return bytes
    }
}
