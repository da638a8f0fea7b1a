import Credentials
import Crypto
import Notifications

/// Gets the provider token of one key from the store, and makes a new one when it is due.
struct ProviderTokenKeeper: Sendable {
    let credentials: ProviderCredentials
    let store: any ProviderTokenStore
    /// The key's name in the store: its team, its identifier, and a fingerprint that distinguishes keys with the
    /// same identifier.
    let name: String
    /// Seconds since 1970.
    let clock: @Sendable () -> UInt64

    /// Returns nil for a certificate, which needs no provider tokens.
    init?(
        _ credentials: ProviderCredentials,
        store: any ProviderTokenStore,
        clock: @escaping @Sendable () -> UInt64,
    ) {
        guard case .token(let team, let key) = credentials.kind else { return nil }
        let fingerprint = SHA256.hash(data: key.privateKey.publicKey.rawRepresentation).prefix(8)
        name = "\(team)-\(key.id)-\(Hexadecimal.string(fingerprint))"
        self.credentials = credentials
        self.store = store
        self.clock = clock
    }

    /// Gets the token to send.
    /// - Parameter rejected: the token that the service just called expired.
    /// - Returns: nil if the store has no better token than the rejected one.
    func token(insteadOf rejected: String?) async throws(ProviderError) -> StoredProviderToken? {
        do {
            let token = try await store.update(name) { stored in
                // Read the clock now. The store may have waited for another process, which has made a token; with an
                // earlier time, that token would be from the future.
                let now = clock()
                switch ProviderTokenSchedule.decide(stored: stored, rejected: rejected, at: now) {
                case .use(let token):
                    return token
                case .giveUp:
                    guard let stored else { throw ProviderError(.badCredentials, "There is no provider token.") }
                    return stored
                case .make(let isEarly):
                    let token = try credentials.token(at: now)
                    return StoredProviderToken(token: token, issuedAt: now, isEarly: isEarly)
                }
            }
            return token.token == rejected ? nil : token
        } catch let error as ProviderError {
            throw error
        } catch {
            throw ProviderError(.badCredentials, "The store of provider tokens failed: \(error)")
        }
    }
}
