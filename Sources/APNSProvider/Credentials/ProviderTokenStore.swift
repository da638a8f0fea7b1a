/// A provider token that was made, and when.
public struct StoredProviderToken: Sendable, Hashable, Codable {
    /// The token: what follows `bearer ` in the `authorization` header. Good for an hour for whoever has it.
    public var token: String
    /// Seconds since 1970.
    public var issuedAt: UInt64
    /// Whether it was made less than 20 minutes after the one before, because the service called that one expired.
    public var isEarly: Bool

    /// A token as a store keeps it.
    public init(token: String, issuedAt: UInt64, isEarly: Bool = false) {
        self.token = token
        self.issuedAt = issuedAt
        self.isEarly = isEarly
    }
}

/// Where provider tokens are kept, so that all connections and processes that share it send the same one: the service
/// takes a new one at most every 20 minutes (Guide, 2.3.3.1: do not generate one for each request).
public protocol ProviderTokenStore: Sendable {
    /// Looks at the token of a key and perhaps puts another in its place. Nobody else looks at it or changes it
    /// meanwhile, in this process or another one that shares the store.
    /// - Parameters:
    ///   - key: names the signing key: safe as a file's name, and no secret.
    ///   - change: gets what is stored, and returns what is to be stored from now on.
    /// - Returns: What `change` returned.
    func update(
        _ key: String,
        _ change: @escaping @Sendable (StoredProviderToken?) throws -> StoredProviderToken,
    ) async throws -> StoredProviderToken
}
