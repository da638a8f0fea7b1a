import Synchronization

/// A store that keeps provider tokens in this process. Clients use it by default.
public final class InMemoryProviderTokenStore: ProviderTokenStore {
    /// The store that all clients of this process share, with one token for each signing key.
    public static let shared = InMemoryProviderTokenStore()

    /// The largest number of keys. A further key replaces the oldest token. In practice it belongs to a removed key,
    /// and has expired.
    static let maximumKeys = 1_000

    private let tokens = Mutex<[String: StoredProviderToken]>([:])

    /// Creates a separate, empty store.
    public init() {}

    /// Reads and replaces a key's token. See ``ProviderTokenStore/update(_:_:)``.
    /// - Throws: The error of `change`.
    public func update(
        _ key: String,
        _ change: @escaping @Sendable (StoredProviderToken?) throws -> StoredProviderToken,
    ) async throws -> StoredProviderToken {
        try tokens.withLock { tokens in
            let changed = try change(tokens[key])
            if tokens[key] == nil, tokens.count >= Self.maximumKeys,
                let oldest = tokens.min(by: { $0.value.issuedAt < $1.value.issuedAt })
            {
                tokens[oldest.key] = nil
            }
            tokens[key] = changed
            return changed
        }
    }
}
