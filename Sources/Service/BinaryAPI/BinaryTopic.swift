import Delivery
import Notifications

/// The topic of a connection's notifications: the UID of its certificate's subject. The accounts say which app it is.
struct BinaryTopic: Sendable {
    let name: String
    /// Nil if no app has this topic.
    let app: App?
    let kind: TopicKind
    /// The version of the accounts that was used.
    let version: UInt64

    init(_ name: String, in accounts: AccountsSnapshot) {
        self.name = name
        let found = accounts.app(forTopic: name)
        app = found?.app
        kind = found?.kind ?? .app
        version = accounts.version
    }
}
