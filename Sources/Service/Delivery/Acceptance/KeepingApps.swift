package import Notifications
import Synchronization

/// The apps whose mailboxes keep more than one notification, for decisions about each notification that is stored.
package final class KeepingApps: Sendable {
    private let hasAny = Atomic(false)
    private let apps: Mutex<Set<AppID>>

    package init(_ apps: some Sequence<AppID> = []) {
        self.apps = Mutex(Set(apps))
        hasAny.store(self.apps.withLock { !$0.isEmpty }, ordering: .relaxed)
    }

    package func set(_ apps: some Sequence<AppID>) {
        let apps = Set(apps)
        self.apps.withLock { $0 = apps }
        hasAny.store(!apps.isEmpty, ordering: .relaxed)
    }

    /// Whether a mailbox keeps more than one notification.
    package func contains(_ destination: Destination) -> Bool {
        destination.isSubscription || contains(destination.app)
    }

    /// Takes no lock if there is no such app, as in nearly every service.
    package func contains(_ app: AppID) -> Bool {
        guard hasAny.load(ordering: .relaxed) else { return false }
        return apps.withLock { $0.contains(app) }
    }
}
