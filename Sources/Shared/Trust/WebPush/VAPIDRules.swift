import Crypto
import Notifications

/// Verifies the tokens with which application servers say who they are in Web Push (RFC 8292, 2). A pure function of its
/// arguments that remembers nothing; one verification costs some 34 µs, nearly all of it for the signature.
package struct VAPIDRules: Sendable, Hashable {
    /// The largest size of a token in bytes. Tokens in use have 200 to 350. The limit bounds the work of decoding.
    package static let maximumBytes = 4096
    /// The farthest `exp`, in seconds from now (RFC 8292, 2).
    package static let longestLife: Double = 86_400
    /// How far a sender's clock may be ahead, in seconds. Senders make tokens for the whole 24 hours, as Mastodon does, and forget a
    /// subscription whose service refuses one. Clocks that follow a time server differ by less.
    package static let clockAllowance: Double = 30
    /// The size of a key: an uncompressed point on P-256 (X9.62, RFC 8292, 3.2).
    package static let keyBytes = 65

    /// What `aud` has to be: scheme, host, and the port unless it is the default (RFC 6454, 6.1).
    package let origin: String

    package init(origin: String) { self.origin = origin }

    /// Verifies a token.
    /// - Parameters:
    ///   - key: the key that came with the token: an uncompressed point.
    ///   - now: seconds since 1970.
    package func verify(token: [UInt8], key: [UInt8], now: Double) throws(VAPIDFault) -> VerifiedVAPID {
        guard token.count <= Self.maximumBytes else {
            throw VAPIDFault("The token is larger than \(Self.maximumBytes) bytes.")
        }
        // Checks that the point is on the curve, too.
        guard key.count == Self.keyBytes, let publicKey = try? P256.Signing.PublicKey(x963Representation: key) else {
            throw VAPIDFault("The key is not a point on P-256: \(Self.keyBytes) bytes, not compressed (RFC 8292, 3.2).")
        }
        guard let read = try? CompactToken(token) else {
            throw VAPIDFault("The token is not a JSON Web Token: header, claims and signature with periods between.")
        }
        let verified = try claims(of: read, key)
        // RFC 7518, 3.4: r and s, 32 bytes each.
        guard read.signature.count == 64,
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: read.signature),
            publicKey.isValidSignature(signature, for: read.signed)
        else { throw VAPIDFault("The token's signature could not be verified with its key.") }
        try verified.check(now: now)
        return verified
    }

    /// Checks all that stays as it is while the token is valid.
    private func claims(of token: CompactToken, _ key: [UInt8]) throws(VAPIDFault) -> VerifiedVAPID {
        guard token.header[text: "alg"] == "ES256" else { throw VAPIDFault("The token's alg is not ES256.") }
        // An extension that is critical has to be understood, and this service knows none (RFC 7515, 4.1.11).
        guard token.header[raw: "crit"] == nil else { throw VAPIDFault("The token's header has a crit member.") }
        let claims = token.claims
        guard let audience = claims[text: "aud"], audience.isSame(as: origin) else {
            throw VAPIDFault("The token's aud is not the origin of the endpoint, \(origin).")
        }
        guard let expires = claims[double: "exp"] else {
            throw VAPIDFault("The token's exp is missing or not a number of seconds.")
        }
        let notBefore = claims[double: "nbf"]
        guard notBefore != nil || claims[raw: "nbf"] == nil else {
            throw VAPIDFault("The token's nbf is not a number of seconds.")
        }
        if claims[raw: "sub"] != nil {
            // A scheme may be in any case (RFC 3986, 3.1).
            let subject = claims[text: "sub"]?.lowercased()
            guard let subject, ["mailto:", "https:"].contains(where: subject.hasPrefix) else {
                throw VAPIDFault("The token's sub is neither a mailto: nor an https: address (RFC 8292, 2.1).")
            }
        }
        return VerifiedVAPID(key: key, expires: expires, notBefore: notBefore)
    }
}

/// The contents of a token that was verified.
package struct VerifiedVAPID: Sendable, Hashable {
    /// The application server's key, ``VAPIDRules/keyBytes`` bytes.
    package let key: [UInt8]
    /// Seconds since 1970.
    package let expires: Double
    /// Seconds since 1970; nil if the token does not say.
    package let notBefore: Double?

    package init(key: [UInt8], expires: Double, notBefore: Double? = nil) {
        (self.key, self.expires, self.notBefore) = (key, expires, notBefore)
    }

    /// Checks what may change between two uses.
    /// - Parameter now: seconds since 1970.
    package func check(now: Double) throws(VAPIDFault) {
        guard now < expires else { throw VAPIDFault("The token has expired.") }
        guard expires - now <= VAPIDRules.longestLife + VAPIDRules.clockAllowance else {
            throw VAPIDFault("The token's exp is more than 24 hours ahead (RFC 8292, 2).")
        }
        if let notBefore, now + VAPIDRules.clockAllowance < notBefore {
            throw VAPIDFault("The token is not valid yet: its nbf is in the future.")
        }
    }
}

/// Why a token of an application server is not valid.
package struct VAPIDFault: Error, Sendable, Hashable {
    /// A sentence without secrets.
    package let detail: String

    package init(_ detail: String) { self.detail = detail }
}
