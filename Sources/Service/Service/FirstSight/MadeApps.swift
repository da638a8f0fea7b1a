import Notifications
import Synchronization

/// The apps that were made at first sight. Requests look them up while others are being made.
final class MadeApps: Sendable {
    private let apps = Mutex<Set<AppID>>([])

    func contains(_ app: AppID) -> Bool { apps.withLock { $0.contains(app) } }

    func insert(_ app: AppID) { apps.withLock { _ = $0.insert(app) } }

    /// Forgets the apps that are not among these any more.
    func keep(_ isThere: (AppID) -> Bool) { apps.withLock { apps in apps = apps.filter(isThere) } }
}
