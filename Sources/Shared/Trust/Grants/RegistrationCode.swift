import Crypto
package import Notifications

/// A code with which an instance lets a phone register a handle, once: a JWT (ES256) that it signs with the key of its grant
/// (docs/gateway.md). The client key is on every phone; a code is given to one that has signed in.
package struct RegistrationCode: Sendable, Hashable {
    /// The longest time that a code may be valid, in seconds: long enough for a phone that loses its network while it registers.
    package static let longestLife = Double(longestMinutes * 60)
    private static let longestMinutes = 10
    /// The largest size of a `jti`, in bytes. A UUID has 36.
    package static let maximumIdentifierBytes = 255

    /// SHA-256 of the `jti`, 32 bytes.
    package let digest: [UInt8]
    /// When it expires, by the clock of the team.
    package let expires: Timestamp

    /// Verifies a code.
    /// - Parameters:
    ///   - now: seconds since 1970, by the clock of the team.
    ///   - teamTime: converts a time of the instance to the clock of the team.
    ///   - key: returns the key of the grant with this identifier; nil if the grant has none.
    /// - Throws: Forbidden, with a detail that says what is wrong.
    package init(
        _ text: String,
        now: Double,
        teamTime: (Double, TeamID) -> Double,
        key: (KeyID) -> ProviderKey?,
    ) throws(Rejection) {
        let bytes = Array(text.utf8)
        guard bytes.count <= ProviderTokenRules.maximumBytes, let token = try? CompactToken(bytes),
            token.header[text: "alg"] == "ES256"
        else {
            throw .forbidden("it has to be a JWT whose alg is ES256.")
        }
        let verified: VerifiedProviderToken
        do throws(Rejection) {
            // The signature, the key, iss and iat have the same rules as those of a provider token.
            verified = try ProviderTokenRules(conformance: .apple).verify(
                token: bytes.span, environment: .production, now: now, teamTime: teamTime, key: key)
        } catch {
            let cause = error.detail?.replacing("The provider token", with: "the code") ?? "it is not valid."
            throw .forbidden(cause)
        }
        let claims = token.claims
        guard let ends = claims[double: "exp"], ends.isFinite, ends > 0, ends < 1e11 else {
            throw .forbidden("its exp is missing or not a number of seconds.")
        }
        // The clocks of iat and exp are the instance's, so their difference is exact, also if the service's was advanced since.
        let life = ends - (claims[double: "iat"] ?? 0)
        let end = verified.issuedAt + life
        guard now < end else { throw .forbidden("it has expired.") }
        guard life > 0, life <= Self.longestLife else {
            throw .forbidden("its exp is more than \(Self.longestMinutes) minutes after its iat.")
        }
        guard let identifier = claims[text: "jti"], (1...Self.maximumIdentifierBytes).contains(identifier.utf8.count)
        else {
            throw .forbidden("its jti is missing or not 1 to \(Self.maximumIdentifierBytes) bytes.")
        }
        digest = Array(SHA256.hash(data: Array(identifier.utf8)))
        // The age of a token and the life of a code are limited, so this is a time near to now.
        guard let milliseconds = UInt64(exactly: (end * 1000).rounded()) else {
            throw .forbidden("its exp is not a time.")
        }
        expires = Timestamp(milliseconds: milliseconds)
    }
}

extension Rejection {
    fileprivate static func forbidden(_ cause: String) -> Rejection {
        Rejection(.forbidden, detail: "The code is not valid: \(cause)")
    }
}
