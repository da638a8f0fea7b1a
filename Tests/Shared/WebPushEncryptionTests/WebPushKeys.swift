import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Crypto
#endif

/// The keys of one account's subscription, and how its messages are decrypted (RFC 8291, RFC 8188).
struct WebPushKeys {
    struct Unreadable: Error {}

    private let privateKey: P256.KeyAgreement.PrivateKey
    private let auth: [UInt8]

    /// Makes new keys.
    init() {
        privateKey = P256.KeyAgreement.PrivateKey()
        auth = SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }
    }

    /// Reads the keys as they are in the keychain: 32 bytes of the private key, and 16 of the secret.
    init(stored: Data) throws {
        privateKey = try P256.KeyAgreement.PrivateKey(rawRepresentation: stored.prefix(32))
        auth = Array(stored.dropFirst(32))
    }

    var stored: Data { privateKey.rawRepresentation + auth }
    /// What the server gets, beside the endpoint.
    var p256dh: String { Self.base64URL(publicKey) }
    var authText: String { Self.base64URL(auth) }

    private var publicKey: [UInt8] { Array(privateKey.publicKey.x963Representation) }

    /// Decrypts what the app's template has made of a message.
    /// - Parameter fetched: the body, if it did not fit into the notification.
    func text(_ userInfo: [AnyHashable: Any], fetched: Data? = nil) throws -> Data {
        func bytes(_ key: String) throws -> [UInt8] { try Self.bytes(z85: userInfo[key] as? String ?? "") }
        let body = try fetched.map { Array($0) } ?? bytes("message")
        switch userInfo["encoding"] as? String {
        case "aes128gcm": return try aes128gcm(body)
        case "aesgcm": return try aesgcm(body, dh: bytes("dh"), salt: bytes("salt"))
        default: throw Unreadable()
        }
    }

    private func aes128gcm(_ body: [UInt8]) throws -> Data {
        // The salt, the size of a record, the length of the sender's key, and the key. The only record follows.
        guard body.count > 86, body[20] == 65 else { throw Unreadable() }
        let (salt, sender) = (Array(body[..<16]), Array(body[21..<86]))
        let secret = try secret(sender, Array("WebPush: info\0".utf8) + publicKey + sender)
        let record = try open(Array(body[86...]), salt, secret, "aes128gcm", [])
        // Zeros may follow the delimiter.
        guard let end = record.lastIndex(where: { $0 != 0 }), record[end] == 2 else { throw Unreadable() }
        return Data(record[..<end])
    }

    /// The draft before the RFC, as Mastodon sends it to apps that do not ask for the standard.
    private func aesgcm(_ body: [UInt8], dh sender: [UInt8], salt: [UInt8]) throws -> Data {
        let secret = try secret(sender, Array("Content-Encoding: auth\0".utf8))
        let context: [UInt8] = Array("P-256\0".utf8) + [0, 65] + publicKey + [0, 65] + sender
        let record = try open(body, salt, secret, "aesgcm", context)
        // The first two bytes are the number of zeros that follow.
        guard record.count >= 2 else { throw Unreadable() }
        let start = 2 + Int(record[0]) * 256 + Int(record[1])
        guard record.count >= start else { throw Unreadable() }
        return Data(record[start...])
    }

    private func secret(_ sender: [UInt8], _ info: [UInt8]) throws -> SymmetricKey {
        let other = try P256.KeyAgreement.PublicKey(x963Representation: sender)
        return try privateKey.sharedSecretFromKeyAgreement(with: other).hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: auth, sharedInfo: info, outputByteCount: 32)
    }

    private func open(
        _ sealed: [UInt8], _ salt: [UInt8], _ secret: SymmetricKey, _ encoding: String, _ context: [UInt8]
    ) throws -> [UInt8] {
        func derived(_ name: String, _ count: Int) -> SymmetricKey {
            let info: [UInt8] = Array("Content-Encoding: \(name)\0".utf8) + context
            return HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, salt: salt, info: info, outputByteCount: count)
        }
        let nonce = derived("nonce", 12).withUnsafeBytes { Array($0) }
        let box = try AES.GCM.SealedBox(
            nonce: AES.GCM.Nonce(data: nonce), ciphertext: sealed.dropLast(16), tag: sealed.suffix(16))
        return Array(try AES.GCM.open(box, using: derived(encoding, 16)))
    }

    private static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }

    private static let digits = Array(
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#".utf8)

    /// Reads z85: five digits are four bytes, and the last digits are one more than their bytes.
    private static func bytes(z85 text: String) throws -> [UInt8] {
        var (bytes, rest) = ([UInt8](), Array(text.utf8)[...])
        while !rest.isEmpty {
            let group = rest.prefix(5)
            rest = rest.dropFirst(5)
            var number: UInt64 = 0
            for digit in group {
                guard let value = digits.firstIndex(of: digit) else { throw Unreadable() }
                number = number * 85 + UInt64(value)
            }
            for place in (0..<group.count - 1).reversed() {
                bytes.append(UInt8(truncatingIfNeeded: number >> (8 * place)))
            }
        }
        return bytes
    }
}
