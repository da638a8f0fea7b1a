/// A provider token in a store, with the time at which it was made.
public struct StoredProviderToken: Sendable, Hashable, Codable {
    /// The text after `bearer ` in the `authorization` header. Anybody who has it can use it for an hour.
    public var token: String
    /// The time of issue, in seconds since 1970.
    public var issuedAt: UInt64
    /// Whether the token was made less than 20 minutes after the one before it, because the service called that one
    /// expired.
    public var isEarly: Bool

    /// Creates a stored token.
    public init(token: String, issuedAt: UInt64, isEarly: Bool = false) {
        self.token = token
        self.issuedAt = issuedAt
        self.isEarly = isEarly
    }
}

/// A store of provider tokens. All connections and processes that share a store send the same token, because the
/// service accepts a new one at most every 20 minutes (Guide, 2.3.3.1: do not generate one for each request).
public protocol ProviderTokenStore: Sendable {
    /// Reads the token of a key and replaces it with the one that `change` returns. Nobody else reads or changes it
    /// meanwhile, neither in this process nor in another one that shares the store.
    /// - Parameters:
    ///   - key: the name of the signing key. It is safe as a file's name, and not a secret.
    ///   - change: gets the stored token, or nil, and returns the token to store.
    /// - Returns: The token that `change` returned.
    /// - Throws: The error of `change`, or an error of the store.
    func update(
        _ key: String,
        _ change: @escaping @Sendable (StoredProviderToken?) throws -> StoredProviderToken,
    ) async throws -> StoredProviderToken
}
