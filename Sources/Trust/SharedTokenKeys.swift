package import Notifications
import Synchronization

/// The token keys as everybody uses them, which may be joined by a new one while the service runs, here or on another node.
package final class SharedTokenKeys: Sendable {
    /// Asks where the keys are kept for those that are not known here.
    package typealias FindKeys = @Sendable (_ known: TokenKeys) async throws -> [TokenKeyID: [UInt8]]

    /// How long after one question the next is asked, whatever the number of device tokens that no key opens.
    package static let searchInterval = Duration.milliseconds(100)

    private let ring: KeyRing
    /// Stays good when a key joins: what one key has opened, another does not.
    private let opened = OpenedTokens()
    private let search: TokenKeySearch?

    private final class KeyRing: Sendable {
        let keys: Mutex<TokenKeys>
        init(_ keys: TokenKeys) { self.keys = Mutex(keys) }

        func add(_ more: [TokenKeyID: [UInt8]]) throws(TrustError) {
            guard !more.isEmpty else { return }
            try keys.withLock { keys throws(TrustError) in
                let all = keys.rawKeys.merging(more) { known, _ in known }
                // The newest: nodes may hear of keys in any order.
                let newest = all.keys.max { $0.rawValue < $1.rawValue } ?? keys.current
                keys = try TokenKeys(keys: all, current: newest, tokenByteCount: keys.tokenByteCount)
            }
        }
    }

    /// - Parameters:
    ///   - find: nil where all keys are known here, as in a service of one process.
    ///   - searchInterval: how long after one question the next is asked.
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

    /// Whether a device token that no key opens may be good all the same: another node may have made its key. Then
    /// ``findKeys()`` has to be awaited before the token is refused.
    package var mayLackKeys: Bool { search != nil }

    /// Asks where the keys are kept; returns once all that there were when this was called are known.
    package func findKeys() async throws { try await search?.run() }

    /// What a token says, as ``TokenKeys/open(_:environment:)`` with the keys as they are now.
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

    /// There is another key; the newest seals the tokens of new registrations from now on, and those given out stay good.
    package func add(_ key: [UInt8], as id: TokenKeyID) throws(TrustError) { try ring.add([id: key]) }
}
