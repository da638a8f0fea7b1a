package import Notifications
package import Storage
package import Trust

/// The certificate authority and the token keys, which all nodes share. The first node makes and stores them.
package struct SharedSecrets: Sendable {
    package let authority: CertificateAuthority
    package let tokenKeys: TokenKeyRotation
    /// Encrypts the credentials of upstreams.
    package let credentialSeal: CredentialSeal

    /// Reads the secrets from the store, or makes them at the first start.
    /// - Parameters:
    ///   - externalRoot: the operator's root, under which a new authority is made. A stored authority has to be under
    ///     the same root.
    ///   - tokenByteCount: the length of device tokens, in bytes.
    ///   - isFirstStart: whether the secrets may be missing. If accounts exist already, a missing secret is an error.
    ///     A new secret would silently invalidate all certificates or device tokens.
    ///   - hasSealed: whether the store has something that ``credentialSeal`` has encrypted.
    package static func load(
        from secrets: any Secrets,
        under externalRoot: ExternalRoot? = nil,
        isFirstStart: Bool = true,
        tokenByteCount: Int = DeviceToken.byteCount,
        hasSealed: Bool = false,
        now: Timestamp,
    ) async throws(ServiceError) -> SharedSecrets {
        do {
            var random = SystemRandomNumberGenerator()
            let seconds = Double(now.milliseconds) / 1000
            let authority: CertificateAuthority
            if let kept = try await secrets.secret(.authority) {
                authority = try await KeptAuthority.load(kept, from: secrets, under: externalRoot, now: seconds)
                try check(authority, isUnder: externalRoot)
            } else {
                guard isFirstStart else { throw lost(.authority) }
                let fresh = try CertificateAuthority.create(under: externalRoot, now: seconds, using: &random)
                authority = try await KeptAuthority.keep(fresh, in: secrets, under: externalRoot, now: seconds)
            }
            return SharedSecrets(
                authority: authority,
                tokenKeys: try await TokenKeyRotation.load(
                    from: secrets, isFirstStart: isFirstStart, tokenByteCount: tokenByteCount),
                credentialSeal: try await seal(from: secrets, isKnown: hasSealed))
        } catch {
            if let error = error as? ServiceError { throw error }
            throw ServiceError(.trust, "The keys of this service cannot be read: \(DataFolder.reason(error))")
        }
    }

    /// Reads the key, or makes one.
    private static func seal(from secrets: any Secrets, isKnown: Bool) async throws -> CredentialSeal {
        var key = try await secrets.secret(.credentialKey)
        if key == nil {
            guard !isKnown else { throw lost(.credentialKey) }
            key = try await secrets.keep(CredentialSeal.makeKey(), as: .credentialKey)
        }
        guard let seal = key.flatMap(CredentialSeal.init(key:)) else {
            throw ServiceError(
                .trust, "The secret \(SecretName.credentialKey.rawValue) is damaged: restore it from a backup.")
        }
        return seal
    }

    /// The error for a lost secret.
    static func lost(_ name: SecretName) -> ServiceError {
        ServiceError(
            .trust,
            "The secret \(name.rawValue) is missing, and the data folder is in use: restore it from a backup, or start with "
                + "a new folder.")
    }

    private static func check(_ authority: CertificateAuthority, isUnder externalRoot: ExternalRoot?) throws {
        guard let externalRoot, !externalRoot.isRoot(of: authority) else { return }
        throw ServiceError(
            .trust,
            "This data folder has another authority already: start with a new folder, or without your own authority.")
    }
}

extension SecretName {
    /// The key that encrypts the credentials of upstreams.
    static let credentialKey = SecretName(known: "credential-key")
}
