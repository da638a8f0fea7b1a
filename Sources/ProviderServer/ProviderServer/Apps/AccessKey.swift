import Credentials
import Crypto
import Foundation
import Notifications

/// A bearer key. The store contains only its digest, so nobody can read a usable key there.
struct AccessKey: Sendable, Hashable {
    let text: String

    /// A new key with 256 random bits.
    /// - Parameter prefix: shows people, and programs that search for leaked keys, what the key is for.
    init(prefix: String) {
        text = prefix + String(decoding: Base64URL.encoded(RandomBytes.make()), as: UTF8.self)
    }

    var digest: [UInt8] { Self.digest(text) }

    static func digest(_ text: String) -> [UInt8] { Array(SHA256.hash(data: Data(text.utf8))) }

    static let clientPrefix = "ck_"
    static let serverPrefix = "sk_"
    static let administratorPrefix = "ak_"
}
