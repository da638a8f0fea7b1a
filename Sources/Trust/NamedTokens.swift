package import Notifications
import Synchronization

/// Device tokens that somebody has named for tests, beside those that the service seals. They exist in the development
/// environment only.
package final class NamedTokens: Sendable {
    /// In bytes. APNs' own have 32; clients' tests have others, up to what the documents let one expect.
    package static let byteCounts = 8...200

    /// What one of them stands for.
    package struct Meaning: Sendable, Hashable {
        package let contents: DeviceTokenContents
        /// The token that the service has sealed for the same app on the same device.
        package let sealed: DeviceToken

        package init(contents: DeviceTokenContents, sealed: DeviceToken) {
            self.contents = contents
            self.sealed = sealed
        }
    }

    /// A name may stand for several apps, as it does where a team's fixtures use one for everything.
    private let meanings = Mutex<[[UInt8]: [AppID: Meaning]]>([:])

    package init() {}

    /// What a token stands for: with the named app, or else with any, so that it can be told that it is another app's.
    package func meaning(of token: [UInt8], app: AppID?) -> Meaning? {
        meanings.withLock { meanings in
            guard let apps = meanings[token] else { return nil }
            return app.flatMap { apps[$0] } ?? apps.values.first
        }
    }

    package func contains(_ token: [UInt8], app: AppID) -> Bool {
        meanings.withLock { $0[token]?[app] != nil }
    }

    /// - Returns: false if the token names another device's app of this bundle ID already; then nothing changes.
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
