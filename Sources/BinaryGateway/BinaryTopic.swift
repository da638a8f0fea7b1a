import Delivery
import Notifications

/// What a connection's notifications are addressed to: the UID of its certificate's subject, as the accounts have it.
struct BinaryTopic: Sendable {
    let name: String
    /// Nil where no app has this topic.
    let app: App?
    /// The version of the accounts that says so.
    let version: UInt64

    init(_ name: String, in accounts: AccountsSnapshot) {
        self.name = name
        app = accounts.app(forTopic: name)?.app
        version = accounts.version
    }
}
