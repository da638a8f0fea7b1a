import Crypto
import Notifications

@testable import Trust

/// The signing key for the entries. With it, inputs get beyond the check of the signature. It is only for tests: it
/// has signed the tokens in the corpus.
package enum FuzzKey {
    package static let team = "FUZZTEAM01"
    package static let id = "FUZZKEY001"
    /// When the tokens of the corpus were issued, in seconds since 1970.
    package static let now: Double = 1_800_000_000

    private static let scalar: [UInt8] = [
        0xf0, 0x5e, 0x55, 0xe3, 0x7c, 0x9c, 0xdd, 0x2b, 0xf5, 0xd3, 0x82, 0x60,
        0x4b, 0x15, 0x6b, 0xa6, 0x89, 0x7d, 0xd4, 0xcc, 0x0c, 0x03, 0x4a, 0x79,
        0x37, 0xff, 0x9e, 0xf5, 0x32, 0x65, 0x5e, 0xe9,
    ]

    private static let key = required(try? P256.Signing.PrivateKey(rawRepresentation: scalar))

    /// The key as the accounts would have it.
    static let known = ProviderKey(
        id: required(KeyID(rawValue: id)), team: required(TeamID(rawValue: team)), publicKey: key.publicKey,
        environments: [.development], bundleIDs: nil)

    /// The value of an `authorization` header with these parts, signed.
    package static func authorization(header: [UInt8], claims: [UInt8]) -> [UInt8] {
        let signed = Base64URL.encoded(header) + [UInt8(ascii: ".")] + Base64URL.encoded(claims)
        let signature = required(try? key.signature(for: signed)).rawRepresentation
        return Array("bearer ".utf8) + signed + [UInt8(ascii: ".")] + Base64URL.encoded(signature)
    }

    /// Returns the value, which has to exist. Without it, the tests would test nothing.
    private static func required<Value>(_ value: Value?) -> Value {
        guard let value else { preconditionFailure("The fuzzer's key is none.") }
        return value
    }
}
