import Crypto
import Foundation
import Notifications

/// Signs the requests to a hook as Standard Webhooks describes
/// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md), because receivers can
/// find libraries that verify such signatures.
struct HookSecret: Sendable {
    private static let prefix = "whsec_"
    /// The secret's length. Standard Webhooks requires "between 24 bytes and 64 bytes".
    private static let bytes = 32

    /// The secret in the form that the receiver gets.
    let text: String
    private let key: SymmetricKey

    /// A new secret.
    init() {
        let bytes = SymmetricKey(size: SymmetricKeySize(bitCount: Self.bytes * 8)).withUnsafeBytes { Data($0) }
        text = Self.prefix + bytes.base64EncodedString()
        key = SymmetricKey(data: bytes)
    }

    /// - Returns: nil if the text is not a secret.
    init?(_ text: String) {
        guard text.hasPrefix(Self.prefix), let bytes = Data(base64Encoded: String(text.dropFirst(Self.prefix.count)))
        else { return nil }
        self.text = text
        key = SymmetricKey(data: bytes)
    }

    /// The headers of one attempt.
    func headers(id: String, at now: Timestamp, _ body: [UInt8]) -> [(String, String)] {
        let signed = Data("\(id).\(now.seconds).".utf8) + Data(body)
        let code = Data(HMAC<SHA256>.authenticationCode(for: signed, using: key))
        return [
            ("webhook-id", id), ("webhook-timestamp", String(now.seconds)),
            ("webhook-signature", "v1," + code.base64EncodedString()),
        ]
    }
}
