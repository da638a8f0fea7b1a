package import Notifications
import Synchronization

/// Device tokens that were given for tests, besides those that the service seals. They exist in the development
/// environment only.
package final class NamedTokens: Sendable {
    /// The allowed sizes in bytes. APNs' own device tokens have 32. Tests of clients use other sizes, up to the
    /// length that Apple's documents allow.
    package static let byteCounts = 8...200

    /// The registration that such a token means.
    package struct Meaning: Sendable, Hashable {
        package let contents: DeviceTokenContents
        /// The token that the service has sealed for the same app on the same device.
        package let sealed: DeviceToken

        package init(contents: DeviceTokenContents, sealed: DeviceToken) {
            self.contents = contents
            self.sealed = sealed
        }
    }

    /// One token may be used for several apps, as in fixtures that have a single token for everything.
    private let meanings = Mutex<[[UInt8]: [AppID: Meaning]]>([:])

    package init() {}

    /// The meaning of a token for the given app, or for any app if it has none for this one. The caller can then say
    /// that the token belongs to another app.
    package func meaning(of token: [UInt8], app: AppID?) -> Meaning? {
        meanings.withLock { meanings in
            guard let apps = meanings[token] else { return nil }
            return app.flatMap { apps[$0] } ?? apps.values.first
        }
    }

    package func contains(_ token: [UInt8], app: AppID) -> Bool {
        meanings.withLock { $0[token]?[app] != nil }
    }

    /// - Returns: False if the token is already used for the app on another device. Then nothing changes.
    package func add(_ token: [UInt8], _ meaning: Meaning) -> Bool {
        meanings.withLock { meanings in
            guard Self.byteCounts.contains(token.count), meanings[token]?[meaning.contents.app] == nil else {
                return false
            }
            meanings[token, default: [:]][meaning.contents.app] = meaning
            return true
        }
    }

    package func remove(_ token: [UInt8], app: AppID) {
        meanings.withLock { meanings in
            meanings[token]?[app] = nil
            if meanings[token]?.isEmpty == true { meanings[token] = nil }
        }
    }
}
