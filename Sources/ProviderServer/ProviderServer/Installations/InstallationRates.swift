import Dispatch
import HTTPAPI
import Notifications
import Rates
import Synchronization

/// Limits how often each installation is changed and read, and how fast an app's client key adds installations.
///
/// The limits of one installation are separate for each secret and user: whoever knows the identifier, but not the secret,
/// must not use up what its owner may do.
final class InstallationRates: Sendable {
    private let changes: Mutex<RateTable<String>>
    private let readings: Mutex<RateTable<String>>
    private let openings: Mutex<RateTable<String>>
    private let additions: Mutex<RateTable<String>>

    /// - Parameters:
    ///   - changes: the rate of changes of one installation, and of its app's requests for it.
    ///   - additions: the rate of new installations with one client key, and of one user.
    init(changes: Rate, additions: Rate) {
        self.changes = Mutex(RateTable(changes))
        readings = Mutex(RateTable(changes))
        openings = Mutex(RateTable(changes))
        self.additions = Mutex(RateTable(additions))
    }

    /// Do not use the time of day, because it can be set back.
    private static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

    private static func key(_ id: String, _ app: Int64, _ registrant: Registrant) -> String {
        switch registrant {
        case .backend: "\(app) \(id)"
        case .client(let secret): "\(app) \(id) \(Hexadecimal.string(secret))"
        case .user(let name, _): "\(app) \(id) user \(name)"
        }
    }

    /// A backend has no such limit, because its key is secret, and what it knows of a user may change often.
    /// - Throws: a problem with status 429 if the app changed the installation too often.
    func checkChange(_ id: String, app: Int64, _ registrant: Registrant) throws(Problem) {
        if case .backend = registrant { return }
        guard changes.withLock({ $0.admits(Self.key(id, app, registrant), at: Self.now) }) else {
            throw Problem(429, "The installation changes too often: send its newest state after a delay.")
        }
    }

    /// - Throws: a problem with status 429 if the app asked for the installation too often.
    func checkReading(_ id: String, app: Int64, _ registrant: Registrant) throws(Problem) {
        guard readings.withLock({ $0.admits(Self.key(id, app, registrant), at: Self.now) }) else {
            throw Problem(429, "The installation is asked for too often: ask again after a delay.")
        }
    }

    /// - Throws: a problem with status 429 if the app says too often that the installation has opened a notification.
    func checkOpening(_ id: String, app: Int64, _ registrant: Registrant) throws(Problem) {
        if case .backend = registrant { return }
        guard openings.withLock({ $0.admits(Self.key(id, app, registrant), at: Self.now) }) else {
            throw Problem(429, "The installation opens too many notifications: send again after a delay.")
        }
    }

    /// - Throws: a problem with status 429 if the app adds too many installations.
    func checkAddition(app: Int64, _ registrant: Registrant) throws(Problem) {
        let key: String
        switch registrant {
        case .backend: return
        case .client: key = "\(app)"
        case .user(let name, _): key = "\(app) user \(name)"
        }
        guard additions.withLock({ $0.admits(key, at: Self.now) }) else {
            throw Problem(429, "The app registers too many new installations: send again after a delay.")
        }
    }
}
