package import Notifications
import Synchronization

/// The token keys as everybody uses them, which may be joined by a new one while the service runs.
package final class SharedTokenKeys: Sendable {
    private let keys: Mutex<TokenKeys>
    /// Stays good when a key joins: what one key has opened, another does not.
    private let opened = OpenedTokens()

    package init(_ keys: TokenKeys) { self.keys = Mutex(keys) }

    package var current: TokenKeys { keys.withLock { $0 } }

    /// What a token says, as ``TokenKeys/open(_:environment:)`` with the keys as they are now.
    package func open(_ token: DeviceToken, environment: Environment) -> DeviceTokenContents? {
        if let contents = opened.contents(of: token, environment: environment) { return contents }
        guard let contents = current.open(token, environment: environment) else { return nil }
        opened.remember(contents, of: token, environment: environment)
        return contents
    }

    /// Seals the tokens of new registrations with this key from now on; those given out stay good.
    package func add(_ key: [UInt8], as id: TokenKeyID) throws(TrustError) {
        try keys.withLock { keys throws(TrustError) in
            var all = keys.rawKeys
            all[id] = key
            keys = try TokenKeys(keys: all, current: id)
        }
    }
}
