import Crypto

/// The public keys by which application servers identify themselves (RFC 8292, 3.2).
package enum VAPIDKey {
    /// Whether these bytes are an uncompressed point on the curve P-256.
    package static func isValid(_ bytes: [UInt8]) -> Bool {
        // Why it is not, the caller cannot say either.
        bytes.count == 65 && bytes.first == 4 && (try? P256.Signing.PublicKey(x963Representation: bytes)) != nil
    }
}
