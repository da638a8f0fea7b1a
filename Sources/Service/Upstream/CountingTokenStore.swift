import APNSProvider

/// The provider tokens of all upstreams, in memory. Counts those that are made.
struct CountingTokenStore: ProviderTokenStore {
    private let tokens = InMemoryProviderTokenStore()
    private let metrics: UpstreamMetrics

    init(_ metrics: UpstreamMetrics) { self.metrics = metrics }

    func update(
        _ key: String,
        _ change: @escaping @Sendable (StoredProviderToken?) throws -> StoredProviderToken,
    ) async throws -> StoredProviderToken {
        let metrics = metrics
        return try await tokens.update(key) { stored in
            let token = try change(stored)
            if token != stored { metrics.madeToken() }
            return token
        }
    }
}
