package import Credentials
package import Notifications
import Synchronization

/// The token keys that all connections use. While the service runs, a new key may be added, by this node or by
/// another one.
package final class SharedTokenKeys: Sendable {
    /// Asks the store for keys that are not known here.
    package typealias FindKeys = @Sendable (_ known: TokenKeys) async throws -> [TokenKeyID: [UInt8]]

    /// The time between two look-ups. It limits the look-ups that device tokens of unknown keys can cause.
    package static let searchInterval = Duration.milliseconds(100)

    private let ring: KeyRing
    /// The device tokens that were opened recently. They stay valid when a key is added, because only one key can
    /// open each token.
    private let opened = OpenedTokens()
    private let search: TokenKeySearch?

    private final class KeyRing: Sendable {
        let keys: Mutex<TokenKeys>
        init(_ keys: TokenKeys) { self.keys = Mutex(keys) }

        func add(_ more: [TokenKeyID: [UInt8]]) throws(TrustError) {
            guard !more.isEmpty else { return }
            try keys.withLock { keys throws(TrustError) in
                let all = keys.rawKeys.merging(more) { known, _ in known }
                // Use the newest key, which need not be the last one that was added: nodes may learn of keys in any
                // order.
                let newest = all.keys.max { $0.rawValue < $1.rawValue } ?? keys.current
                keys = try TokenKeys(keys: all, current: newest, tokenByteCount: keys.tokenByteCount)
            }
        }
    }

    /// - Parameters:
    ///   - find: nil if all keys are known here, as in a service of one process.
    ///   - searchInterval: the time between two look-ups.
    package init(
        _ keys: TokenKeys,
        find: FindKeys? = nil,
        searchInterval: Duration = SharedTokenKeys.searchInterval,
    ) {
        let ring = KeyRing(keys)
        self.ring = ring
        search = find.map { find in
            TokenKeySearch(interval: searchInterval) { try ring.add(try await find(ring.keys.withLock { $0 })) }
        }
    }

    package var current: TokenKeys { ring.keys.withLock { $0 } }

    /// Whether a device token that no known key opens may still be valid, because another node may have made its key.
    /// If so, the caller has to await ``findKeys()`` before it refuses the token.
    package var mayLackKeys: Bool { search != nil }

    /// Asks the store for keys. When it returns, all keys that existed at the time of the call are known.
    package func findKeys() async throws { try await search?.run() }

    /// Calls ``findKeys()`` for a connection, which decides about the token whether or not this succeeds.
    /// - Returns: false if the store could not be asked. It is then unknown whether the token is invalid.
    package func searchIsAnswered() async -> Bool {
        do {
            try await findKeys()
            return true
        } catch {
            return false
        }
    }

    /// The contents of a token, as ``TokenKeys/open(_:environment:)`` with the current keys.
    package func open(_ token: DeviceToken, environment: Environment) -> DeviceTokenContents? {
        if let contents = opened.contents(of: token, environment: environment) { return contents }
        guard let contents = current.open(token, environment: environment) else { return nil }
        opened.remember(contents, of: token, environment: environment)
        return contents
    }

    /// The token of a registration, as ``TokenKeys/seal(_:environment:key:)``, whichever node made its key.
    package func seal(
        _ contents: DeviceTokenContents,
        environment: Environment,
        key id: TokenKeyID,
    ) async throws -> DeviceToken {
        if !current.contains(id) { try await findKeys() }
        return try current.seal(contents, environment: environment, key: id)
    }

    /// Adds a key. The newest key seals the tokens of new registrations from now on. Older tokens stay valid.
    package func add(_ key: [UInt8], as id: TokenKeyID) throws(TrustError) { try ring.add([id: key]) }
}
