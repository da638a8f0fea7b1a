import Crypto
package import Notifications

/// Verifies provider tokens (Guide, 2.3.1). A pure function of its arguments that remembers nothing; one verification
/// costs some 34 µs, nearly all of it for the signature.
package struct ProviderTokenRules: Sendable, Hashable {
    /// The largest size of a token in bytes. Tokens in use have 150 to 250. The limit bounds the work of decoding and
    /// hashing.
    package static let maximumBytes = 4096
    /// How long a token is valid, in seconds: "within the last hour" (Guide, 2.3.1).
    package static let lifetime: Double = 3600
    /// How far a provider's clock may be ahead of ours, in seconds. Kerberos commonly allows as much. It is short, so
    /// that a token does not live noticeably longer than its hour.
    package static let clockTolerance: Double = 300
    /// A greater `iat` is in milliseconds. In seconds this would be the year 5138, in milliseconds it is 1973.
    package static let millisecondsAbove: Double = 1e11

    package let conformance: Conformance

    package init(conformance: Conformance) { self.conformance = conformance }

    /// Verifies the value of an `authorization` header.
    ///
    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - teamTime: converts an `iat` to the clock of the team.
    ///   - ahead: by how many seconds the clock of the team is ahead of `now`.
    ///   - lookup: returns the key with this identifier; nil if there is none, it is revoked, or its grant is suspended.
    ///   - unknown: returns where to remember a key with this identifier that nobody has created; nil to refuse it.
    /// - Throws: MissingProviderToken, InvalidProviderToken, BadEnvironmentKeyIdInToken or ExpiredProviderToken.
    package func verify(
        authorization: Span<UInt8>,
        environment: Environment,
        now: Double,
        teamTime: (Double, TeamID) -> Double = { seconds, _ in seconds },
        ahead: (TeamID) -> Double = { _ in 0 },
        key lookup: (KeyID) -> ProviderKey?,
        unknown: (KeyID) -> UnknownKeys? = { _ in nil },
    ) throws(Rejection) -> VerifiedProviderToken {
        let start = try Self.tokenStart(in: authorization)
        guard takesScheme(authorization) else {
            throw .invalidToken("The authorization header's scheme is in another case than bearer (Guide, Table 8-2).")
        }
        return try verify(
            token: authorization.extracting(droppingFirst: start), environment: environment, now: now,
            teamTime: teamTime, ahead: ahead, key: lookup, unknown: unknown)
    }

    func verify(
        token: Span<UInt8>,
        environment: Environment,
        now: Double,
        teamTime: (Double, TeamID) -> Double = { seconds, _ in seconds },
        ahead: (TeamID) -> Double = { _ in 0 },
        key lookup: (KeyID) -> ProviderKey?,
        unknown: (KeyID) -> UnknownKeys? = { _ in nil },
    ) throws(Rejection) -> VerifiedProviderToken {
        guard token.count <= Self.maximumBytes else {
            throw .invalidToken("The provider token is larger than \(Self.maximumBytes) bytes.")
        }
        let parts = try Parts(token)
        let keyID = try parts.keyID(conformance)
        let (team, issuedAt) = try parts.claims(conformance)
        guard let key = lookup(keyID) else {
            if let keys = unknown(keyID) {
                let signature = try parts.parsedSignature(conformance)
                let unverified = VerifiedProviderToken(
                    issuedAt: teamTime(issuedAt, team), unknown: keyID, of: team)
                try unverified.check(environment: environment, now: now + ahead(team))
                keys.remember(keyID, of: team, UnknownKeys.Evidence(signed: Array(parts.signed), signature: signature))
                return unverified
            }
            throw .invalidToken("There is no key \(keyID), or it is revoked, or its grant is suspended.")
        }
        guard key.team == team else {
            throw .invalidToken("The key \(keyID) is not one of the team \(team).")
        }
        // Check the signature first: only the key's holder may learn more about the key or the clock.
        try parts.checkSignature(key.publicKey, conformance)
        let verified = VerifiedProviderToken(issuedAt: teamTime(issuedAt, team), key: key)
        try verified.check(environment: environment, now: now + ahead(team))
        return verified
    }

    /// Whether the scheme is written as in the Guide. Only `strict` requires it.
    /// - Parameter authorization: has a scheme.
    func takesScheme(_ authorization: Span<UInt8>) -> Bool {
        conformance == .apple || authorization.extracting(first: 6).isEqual(to: "bearer")
    }

    /// Whether two values of the header have the same token, however they write the scheme before it.
    package static func haveSameToken(_ one: Span<UInt8>, _ other: Span<UInt8>) -> Bool {
        guard let start = try? tokenStart(in: one), let otherStart = try? tokenStart(in: other) else { return false }
        return one.extracting(droppingFirst: start).isEqual(to: other.extracting(droppingFirst: otherStart).array)
    }

    /// The offset of the token in `bearer TOKEN`. The scheme may be in any case (RFC 9110, 11.1), and clients use both.
    static func tokenStart(in authorization: Span<UInt8>) throws(Rejection) -> Int {
        let scheme: StaticString = "bearer"
        let length = scheme.utf8CodeUnitCount
        guard !authorization.isEmpty else { throw .missingToken }
        guard authorization.count >= length else { throw .notBearer }
        for index in 0..<length {
            // Capital and small letters differ only in this bit.
            guard authorization[index] | 0x20 == scheme.utf8Start[index] else { throw .notBearer }
        }
        var start = length
        while start < authorization.count, authorization[start] == UInt8(ascii: " ") { start += 1 }
        guard start < authorization.count else { throw .missingToken }
        guard start > length else { throw .notBearer }
        return start
    }
}

extension VerifiedProviderToken {
    /// Checks what may change between two uses: that the key is for this environment, and the token's age.
    ///
    /// - Parameter now: seconds since 1970.
    package func check(environment: Environment, now: Double) throws(Rejection) {
        guard isFor(environment) else {
            throw Rejection(
                .badEnvironmentKeyIDInToken,
                detail: "The key \(key) is not for the \(environment.rawValue) environment.")
        }
        guard now - issuedAt <= ProviderTokenRules.lifetime else {
            throw Rejection(.expiredProviderToken, detail: "The provider token was issued more than an hour ago.")
        }
        guard issuedAt - now <= ProviderTokenRules.clockTolerance else {
            throw .invalidToken("The provider token's iat is in the future.")
        }
    }
}

extension ProviderTokenRules {
    /// The decoded parts of a token.
    private struct Parts {
        let header: JSONObject
        let claims: JSONObject
        let signature: [UInt8]
        /// The signed bytes: header and claims as they were sent (RFC 7515, 5.2).
        let signed: ArraySlice<UInt8>

        init(_ token: Span<UInt8>) throws(Rejection) {
            let read: CompactToken
            do throws(CompactToken.Fault) {
                read = try CompactToken(token.array)
            } catch {
                throw .invalidToken(Self.text(error))
            }
            (header, claims, signature, signed) = (read.header, read.claims, read.signature, read.signed)
        }

        private static func text(_ fault: CompactToken.Fault) -> String {
            switch fault {
            case .parts: "The provider token is not header, claims and signature, with periods between."
            case .header: "The provider token's header is not a JSON object in Base64 without repeated keys."
            case .claims: "The provider token's claims are not a JSON object in Base64 without repeated keys."
            case .signature: "The provider token's signature is not in Base64."
            }
        }

        func keyID(_ conformance: Conformance) throws(Rejection) -> KeyID {
            // A widely used client writes ES512, although it signs as ES256 says, and the service takes its tokens. The
            // signature decides: the key is on P-256, so no other algorithm can verify.
            let isAccepted =
                switch header[text: "alg"] {
                case "ES256": true
                case "ES384", "ES512": conformance == .apple
                default: false
                }
            guard isAccepted else {
                throw .invalidToken("The provider token's alg is missing or not ES256.")
            }
            // An unknown extension that must be understood makes the token invalid (RFC 7515, 4.1.11).
            guard header[raw: "crit"] == nil else {
                throw .invalidToken("The provider token's header has a crit member.")
            }
            guard let keyID = header[text: "kid"].flatMap(KeyID.init) else {
                throw .invalidToken("The provider token's kid is missing or not \(AccountIDs.form).")
            }
            guard conformance == .apple || keyID.isAssigned else {
                throw .invalidToken("The provider token's kid is not ten capital letters and digits.")
            }
            return keyID
        }

        /// The team and the time of issue. Any other claim has no meaning here (RFC 7519, 4).
        func claims(_ conformance: Conformance) throws(Rejection) -> (TeamID, Double) {
            guard let team = claims[text: "iss"].flatMap(TeamID.init) else {
                throw .invalidToken("The provider token's iss is missing or not \(AccountIDs.form).")
            }
            guard conformance == .apple || team.isAssigned else {
                throw .invalidToken("The provider token's iss is not ten capital letters and digits.")
            }
            var issuedAt = claims[double: "iat"]
            // Widely used clients send a string of digits.
            if conformance == .apple, let text = claims[text: "iat"] { issuedAt = JSONObject.number(Array(text.utf8)) }
            guard let issuedAt else {
                throw .invalidToken("The provider token's iat is missing or not a number of seconds.")
            }
            guard issuedAt > ProviderTokenRules.millisecondsAbove else { return (team, issuedAt) }
            guard conformance == .apple else {
                throw .invalidToken("The provider token's iat is not in seconds.")
            }
            return (team, issuedAt / 1000)
        }

        /// Checks a signature of 64 bytes, r and s (RFC 7518, 3.4), or in DER. The Guide's Listing 8-2 has one in DER,
        /// as Java's `SHA256withECDSA` makes them, and Apple's service accepts it.
        func checkSignature(_ key: P256.Signing.PublicKey, _ conformance: Conformance) throws(Rejection) {
            if signature.count == 64, let parsed = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
                key.isValidSignature(parsed, for: signed)
            {
                return
            }
            guard let parsed = distinguishedSignature, key.isValidSignature(parsed, for: signed) else {
                throw .invalidToken("The provider token's signature could not be verified.")
            }
            guard conformance == .apple else {
                throw .invalidToken(
                    "The provider token's signature is in DER; it has to be r and s, 32 bytes each (RFC 7518, 3.4).")
            }
        }

        /// The signature of a key that is not known. It can only be checked for its form.
        func parsedSignature(_ conformance: Conformance) throws(Rejection) -> P256.Signing.ECDSASignature {
            if signature.count == 64, let parsed = try? P256.Signing.ECDSASignature(rawRepresentation: signature) {
                return parsed
            }
            guard conformance == .apple, let parsed = distinguishedSignature else {
                throw .invalidToken("The provider token's signature is not one of ES256: r and s, 32 bytes each.")
            }
            return parsed
        }

        /// The largest size of a signature in DER, in bytes: a sequence of two integers of 33 bytes.
        private static let maximumDistinguishedBytes = 72

        /// The signature, if it is in DER. Only one encoding is accepted for each signature.
        private var distinguishedSignature: P256.Signing.ECDSASignature? {
            guard signature.count <= Self.maximumDistinguishedBytes,
                let parsed = try? P256.Signing.ECDSASignature(derRepresentation: signature),
                Array(parsed.derRepresentation) == signature
            else { return nil }
            return parsed
        }
    }
}

extension Rejection {
    fileprivate static func invalidToken(_ detail: String) -> Rejection {
        Rejection(.invalidProviderToken, detail: detail)
    }

    fileprivate static var missingToken: Rejection {
        Rejection(.missingProviderToken, detail: "The authorization header holds no provider token.")
    }

    fileprivate static var notBearer: Rejection {
        .invalidToken("The authorization header's scheme is not bearer.")
    }
}
