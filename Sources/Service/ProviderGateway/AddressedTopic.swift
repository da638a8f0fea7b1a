import Delivery
import Notifications

/// The topic of an `apns-topic` header, and the app that it belongs to. A connection remembers the last one, because
/// most of its requests have the same topic.
final class AddressedTopic: Sendable {
    let name: String
    /// The app that has this topic; nil if none has.
    let app: App?
    let kind: TopicKind

    init(name: String, in accounts: AccountsSnapshot) {
        self.name = name
        let found = accounts.app(forTopic: name)
        app = found?.app
        kind = found?.kind ?? .app
    }

    /// The largest payload, in bytes (Guide, 2.2).
    var payloadLimit: Int { kind.maximumPayloadBytes }
}
