package import Notifications

/// A JSON Web Token in the compact form (RFC 7515, 7.1), divided and decoded: the one reader of such tokens. It says nothing
/// of who has signed it.
package struct CompactToken {
    /// The part that cannot be read.
    package enum Fault: Error, Sendable, Hashable {
        /// There are not three parts with periods between.
        case parts
        /// The header is not a JSON object in Base64 without repeated keys.
        case header
        /// The same of the claims.
        case claims
        /// The signature is not in Base64.
        case signature
    }

    package let header: JSONObject
    package let claims: JSONObject
    package let signature: [UInt8]
    /// The signed bytes: header and claims as they were sent (RFC 7515, 5.2).
    package let signed: ArraySlice<UInt8>

    /// - Parameter bytes: the token. The caller limits its size.
    package init(_ bytes: [UInt8]) throws(Fault) {
        let parts = bytes.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw .parts }
        guard let header = Base64URL.decoded(parts[0]).flatMap({ JSONObject($0) }) else { throw .header }
        guard let claims = Base64URL.decoded(parts[1]).flatMap({ JSONObject($0) }) else { throw .claims }
        guard let signature = Base64URL.decoded(parts[2]) else { throw .signature }
        (self.header, self.claims, self.signature) = (header, claims, signature)
        signed = bytes[..<parts[1].endIndex]
    }
}
