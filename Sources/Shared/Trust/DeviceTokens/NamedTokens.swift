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

    /// The app or the service of an app that a token is for.
    private struct Purpose: Hashable {
        let app: AppID
        let service: TopicKind

        init(_ contents: DeviceTokenContents) {
            app = contents.app
            service = contents.service
        }
    }

    /// One token may be used for several apps and services, as in fixtures that have a single token for everything.
    private let meanings = Mutex<[[UInt8]: [Purpose: Meaning]]>([:])

    package init() {}

    /// The meaning of a token for the given app and service. If it has none for these, the meaning for the app, or for
    /// any app. The caller can then say that the token belongs to another one.
    package func meaning(of token: [UInt8], app: AppID?, service: TopicKind = .app) -> Meaning? {
        meanings.withLock { meanings in
            guard let known = meanings[token]?.values else { return nil }
            let ofApp = known.filter { $0.contents.app == app }
            return ofApp.first { $0.contents.service == service } ?? ofApp.first { $0.contents.service == .app }
                ?? ofApp.first ?? known.first
        }
    }

    package func contains(_ token: [UInt8], app: AppID, service: TopicKind = .app) -> Bool {
        meanings.withLock { meanings in
            meanings[token]?.keys.contains { $0.app == app && $0.service == service } ?? false
        }
    }

    /// - Returns: False if the token is already used for the app or the service on another device. Then nothing
    ///   changes.
    package func add(_ token: [UInt8], _ meaning: Meaning) -> Bool {
        let purpose = Purpose(meaning.contents)
        return meanings.withLock { meanings in
            guard Self.byteCounts.contains(token.count), meanings[token]?[purpose] == nil else { return false }
            meanings[token, default: [:]][purpose] = meaning
            return true
        }
    }

    /// Removes a token of an app, or of one of its services.
    package func remove(_ token: [UInt8], app: AppID, service: TopicKind = .app) {
        meanings.withLock { meanings in
            meanings[token] = meanings[token]?.filter { $0.key.app != app || $0.key.service != service }
            if meanings[token]?.isEmpty == true { meanings[token] = nil }
        }
    }
}
