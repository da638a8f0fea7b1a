import Credentials
import Crypto
import Foundation
package import Notifications

/// Makes the endpoints of Web Push subscriptions.
///
/// An endpoint is HMAC-SHA256 of random bytes that are made with its subscription. The store has these bytes and a hash of
/// the endpoint, and the key is a secret of its own. So a copy of the database alone gives nobody an endpoint, and no
/// device token or handle leads to one.
package struct EndpointKey: Sendable {
    /// The size of the secret, in bytes.
    package static let byteCount = 32
    /// The size of the random bytes of a subscription.
    package static let seedByteCount = 16

    private let key: SymmetricKey

    /// - Parameter secret: made by ``makeSecret()``.
    /// - Returns: nil unless it has ``byteCount`` bytes.
    package init?(_ secret: [UInt8]) {
        guard secret.count == Self.byteCount else { return nil }
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret), info: Data("web push endpoint".utf8), outputByteCount: 32)
    }

    package static func makeSecret() -> [UInt8] { RandomBytes.make() }

    /// Makes the random bytes of a new subscription.
    package static func makeSeed() -> [UInt8] {
        SymmetricKey(size: .init(bitCount: 8 * seedByteCount)).withUnsafeBytes { Array($0) }
    }

    /// The endpoint of a subscription.
    /// - Parameter seed: made by ``makeSeed()``.
    package func endpoint(of seed: [UInt8], in environment: Environment) -> EndpointID? {
        let input: [UInt8] = [environment == .development ? 0 : 1] + seed
        return EndpointID(Array(HMAC<SHA256>.authenticationCode(for: input, using: key)))
    }

    /// Makes an endpoint that was never used.
    /// - Returns: the random bytes that it is made from, and the hash by which the store finds it.
    package func make(in environment: Environment) -> (seed: [UInt8], digest: [UInt8])? {
        let seed = Self.makeSeed()
        return endpoint(of: seed, in: environment).map { (seed, Self.digest(of: $0)) }
    }

    /// The hash by which the store finds an endpoint. It needs no key, because nobody can try 2^256 endpoints.
    package static func digest(of endpoint: EndpointID) -> [UInt8] { Array(SHA256.hash(data: endpoint.bytes)) }
}
