import Delivery
import Notifications

/// The app that an `apns-topic` header addresses. A connection remembers it, because most of its requests have the
/// same topic.
final class AddressedTopic: Sendable {
    let name: String
    /// The app with this topic; nil if there is none.
    let app: App?
    let kind: TopicKind

    init(name: String, in accounts: AccountsSnapshot) {
        self.name = name
        let found = accounts.app(forTopic: name)
        app = found?.app
        kind = found?.kind ?? .app
    }

    /// The largest payload, in bytes (Guide, 2.2).
    var payloadLimit: Int { kind == .voip ? Payload.maximumVoIPBytes : Payload.maximumBytes }
}
