package import Notifications

/// Verifies provider tokens and remembers those that are valid.
///
/// A value; its owner guards it with a lock. ``recall(authorization:)`` is the way of nearly every request and does not
/// change it. A verification takes some 34 µs, too long to hold a lock that other requests wait for, so the owner does
/// it outside:
///
/// ```
/// lock   → recall(authorization:), else note revision
/// unlock → rules.verify(…)
/// lock   → remember(authorization:as:since: revision)
/// ```
///
/// A key that is revoked in between moves the revision on, and what was verified before is not remembered. For that the
/// owner first changes what the lookup of keys answers and then calls ``forget(key:)``.
package struct ProviderTokenVerifier: Sendable {
    /// The default number of remembered tokens. Some 3,000 providers can send all the time, each with a token that it
    /// renews every 20 minutes. A token takes some 400 bytes, so all take 4 MB.
    package static let defaultCapacity = 10_000

    package let rules: ProviderTokenRules
    /// Changes when a key is forgotten.
    package private(set) var revision: UInt64 = 0
    private var memory: ProviderTokenMemory

    /// - Parameters:
    ///   - capacity: how many tokens are remembered, 1 or more.
    ///   - generator: seeds the hash that finds tokens.
    package init(
        conformance: Conformance,
        capacity: Int = ProviderTokenVerifier.defaultCapacity,
        using generator: inout some RandomNumberGenerator,
    ) {
        rules = ProviderTokenRules(conformance: conformance)
        memory = ProviderTokenMemory(capacity: capacity, using: &generator)
    }

    /// The number of remembered tokens.
    package var rememberedCount: Int { memory.count }

    /// The contents of a token that was verified before; nil if it has to be verified. Its age and environment have to
    /// be checked at each use (``VerifiedProviderToken/check(environment:now:)``).
    package func recall(authorization: Span<UInt8>) -> VerifiedProviderToken? {
        // If the scheme is wrong, the verification reports it.
        guard let start = try? ProviderTokenRules.tokenStart(in: authorization), rules.takesScheme(authorization) else {
            return nil
        }
        let token = authorization.extracting(droppingFirst: start)
        guard token.count <= ProviderTokenRules.maximumBytes else { return nil }
        return memory.recall(token)
    }

    /// Remembers a token that ``ProviderTokenRules/verify(authorization:environment:now:key:)`` has verified.
    ///
    /// - Parameter revision: the value of ``revision`` before the verification began.
    /// - Returns: whether the oldest token was forgotten to make room.
    @discardableResult
    package mutating func remember(
        authorization: Span<UInt8>,
        as verified: VerifiedProviderToken,
        since revision: UInt64,
    ) -> Bool {
        // A verified token always has a scheme. If there is none, there is nothing to remember.
        guard revision == self.revision, let start = try? ProviderTokenRules.tokenStart(in: authorization) else {
            return false
        }
        return memory.remember(authorization.extracting(droppingFirst: start), as: verified)
    }

    /// Forgets all tokens of a key, after it was revoked or changed.
    package mutating func forget(key: KeyID) {
        revision &+= 1
        memory.forget(key: key)
    }
}
