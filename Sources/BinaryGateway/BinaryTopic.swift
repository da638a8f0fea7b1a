import Delivery
import Notifications

/// The topic of a connection's notifications, which is the UID of its certificate's subject, and the app that has
/// this topic.
struct BinaryTopic: Sendable {
    let name: String
    /// The app with this topic; nil if there is none.
    let app: App?
    /// The version of the accounts in which the app was looked up.
    let version: UInt64

    init(_ name: String, in accounts: AccountsSnapshot) {
        self.name = name
        app = accounts.app(forTopic: name)?.app
        version = accounts.version
    }
}
