import Crypto
import Foundation

/// A bearer key. The store has only its digest, so whoever reads the store cannot use it.
struct AccessKey: Sendable, Hashable {
    let text: String

    /// A new key with 256 random bits.
    /// - Parameter prefix: says to a person, and to a search for leaked keys, what the key is for.
    init(prefix: String) {
        let bytes = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
        text =
            prefix
            + bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    var digest: [UInt8] { Self.digest(text) }

    static func digest(_ text: String) -> [UInt8] { Array(SHA256.hash(data: Data(text.utf8))) }

    static let clientPrefix = "ck_"
    static let serverPrefix = "sk_"
    static let administratorPrefix = "ak_"
}
