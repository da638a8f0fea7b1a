import Delivery
import Notifications

/// What an `apns-topic` header names. Remembered by a connection, because most of its requests name the same.
final class AddressedTopic: Sendable {
    let name: String
    /// The app it reaches, and which of its services; nil where no app has this topic.
    let app: App?
    let kind: TopicKind

    init(name: String, in accounts: AccountsSnapshot) {
        self.name = name
        let found = accounts.app(forTopic: name)
        app = found?.app
        kind = found?.kind ?? .app
    }

    /// In bytes (Guide, 2.2).
    var payloadLimit: Int { kind == .voip ? Payload.maximumVoIPBytes : Payload.maximumBytes }
}
