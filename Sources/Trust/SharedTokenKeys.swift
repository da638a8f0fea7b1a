package import Notifications
import Synchronization

/// The token keys as everybody uses them, which may be joined by a new one while the service runs.
package final class SharedTokenKeys: Sendable {
    private let keys: Mutex<TokenKeys>

    package init(_ keys: TokenKeys) { self.keys = Mutex(keys) }

    package var current: TokenKeys { keys.withLock { $0 } }

    /// Opens with the keys as they are now.
    package func open(_ token: DeviceToken, environment: Environment) -> DeviceTokenContents? {
        current.open(token, environment: environment)
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
