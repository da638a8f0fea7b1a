import Delivery
import DeliveryLogFiles
import HTTPAPI
import Notifications

/// Selects the entries of the delivery log that a request asks for.
struct LogFilter: Sendable {
    var notification: NotificationID?
    /// Selects the entries of this device token, in lower-case hexadecimal digits.
    var token: String?
    var team: TeamID?
    /// Selects only later events. In milliseconds since 1970.
    var after: UInt64?

    /// - Parameter accounts: say which team an entry's app belongs to.
    func wants(_ item: LogPages.Item, _ accounts: AccountsSnapshot) -> Bool {
        if let notification, item.entry.notification != notification { return false }
        if let token, item.entry.token != token { return false }
        if let after, item.entry.time.milliseconds <= after { return false }
        if let team, Self.team(of: item, accounts) != team { return false }
        return true
    }

    private static func team(of item: LogPages.Item, _ accounts: AccountsSnapshot) -> TeamID? {
        if case .destination(let destination, _) = item.address { return accounts.app(destination.app)?.team }
        return accounts.app(forTopic: item.entry.topic)?.app.team
    }
}
