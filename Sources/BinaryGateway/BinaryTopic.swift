import Delivery
import Notifications

/// The topic of a connection's notifications: the UID of its certificate's subject. The accounts say which app it is.
struct BinaryTopic: Sendable {
    let name: String
    /// Nil if no app has this topic.
    let app: App?
    /// The version of the accounts that was used.
    let version: UInt64

    init(_ name: String, in accounts: AccountsSnapshot) {
        self.name = name
        app = accounts.app(forTopic: name)?.app
        version = accounts.version
    }
}
