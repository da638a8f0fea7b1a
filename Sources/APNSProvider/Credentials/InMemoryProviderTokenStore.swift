import Synchronization

/// Keeps provider tokens in this process: what a client uses unless it is told otherwise.
public final class InMemoryProviderTokenStore: ProviderTokenStore {
    /// One token for each signing key for all clients of this process.
    public static let shared = InMemoryProviderTokenStore()

    /// Signing keys come and go rarely; the tokens of any that are gone are worthless after an hour.
    static let maximumKeys = 1_000

    private let tokens = Mutex<[String: StoredProviderToken]>([:])

    /// A store of its own.
    public init() {}

    /// See ``ProviderTokenStore/update(_:_:)``.
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
