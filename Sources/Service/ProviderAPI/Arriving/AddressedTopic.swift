import Delivery
import Notifications

/// The topic of an `apns-topic` header, and the app that it belongs to. A connection remembers the last one, because
/// most of its requests have the same topic.
final class AddressedTopic: Sendable {
    let name: String
    /// The app that has this topic; nil if none has.
    let app: App?
    /// The app's service; if no app has the topic, the one that the topic's end names.
    let kind: TopicKind
    /// The app's upstreams, at most one in each environment. Empty for most apps.
    private let upstreams: [AppUpstream]
    /// The version of the accounts that say this.
    let accountsVersion: UInt64

    init(name: String, in accounts: AccountsSnapshot) {
        self.name = name
        accountsVersion = accounts.version
        let found = accounts.app(forTopic: name)
        app = found?.app
        kind = found?.kind ?? .ofUnknown(topic: name)
        upstreams =
            accounts.upstreams.isEmpty
            ? []
            : Environment.allCases.compactMap { environment in
                found.flatMap {
                    accounts.upstreams[UpstreamPlace(bundleID: $0.app.bundleID, environment: environment)]
                }
            }
    }

    /// Where the app's notifications are forwarded to; nil if they are delivered here.
    func upstream(in environment: Environment) -> AppUpstream? {
        upstreams.isEmpty ? nil : upstreams.first { $0.place.environment == environment }
    }

    /// Whether the app is forwarded in the other environment only.
    func isForwardedElsewhere(than environment: Environment) -> Bool {
        !upstreams.isEmpty && upstream(in: environment) == nil
    }

    /// The largest payload, in bytes (Guide, 2.2).
    var payloadLimit: Int { kind.maximumPayloadBytes }
}
