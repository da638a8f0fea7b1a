import Delivery
import Logging
import Management
import Notifications
import Storage
import Trust
import VirtualDevices

/// Makes the teams and the apps that providers name and nobody has created, one after the other.
///
/// They are accounts like any others. If there are too many, the oldest is deleted that has neither a key nor a
/// certificate: somebody who created one uses the team.
actor AccountsAtFirstSight {
    private let accounts: any Accounts
    private let devices: VirtualDevices
    private let untouched: UntouchedApp
    private let keys: UnknownKeys
    private let made: MadeApps
    private let clock: ServiceClock
    private let logger: Logger
    private let limits: AcceptLimits
    /// What was made, the oldest first.
    private var teams: [TeamID]
    private var apps: [BundleID] = []
    /// The last of the calls. The next one begins after it.
    private var last: Task<Void, Never>?

    init(
        accounts: any Accounts,
        devices: VirtualDevices,
        untouched: UntouchedApp,
        keys: UnknownKeys,
        made: MadeApps,
        clock: ServiceClock,
        limits: AcceptLimits,
        logger: Logger,
    ) {
        self.accounts = accounts
        self.devices = devices
        self.untouched = untouched
        self.keys = keys
        self.made = made
        self.clock = clock
        self.logger = logger
        self.limits = limits
        // A store on disk may have teams that an earlier start made. They count too.
        teams = accounts.current.teams.values.filter { $0.name == Self.name(of: $0.id) }.map(\.id)
    }

    /// The name of a team that is made. It tells people why the team is there.
    static func name(of team: TeamID) -> String { "\(team) (made at first sight)" }

    func makeApp(of topic: String, team: TeamID) async {
        let before = last
        let task = Task {
            await before?.value
            do {
                try await make(topic, team)
            } catch {
                // The request is then refused, as it would be without `--accept any`.
                logger.warning(
                    "An app could not be made at first sight",
                    metadata: ["topic": "\(topic)", "team": "\(team)", "cause": "\(error)"])
            }
        }
        last = task
        await task.value
    }

    private func make(_ topic: String, _ team: TeamID) async throws {
        guard let bundleID = Self.bundleID(of: topic) else { return }
        if let there = accounts.current.app(forTopic: topic)?.app {
            guard there.bundleID == bundleID, there.team != team,
                try await untouched.isUntouched(there, in: accounts.current),
                try await untouched.delete(there, from: accounts, at: clock.time)
            else { return }
        }
        if accounts.current.teams[team] == nil {
            _ = try await accounts.apply(.createTeam(Team(id: team, name: Self.name(of: team))))
            teams.append(team)
            logger.notice("A team was made at first sight", metadata: ["team": "\(team)"])
        }
        let current = try await accounts.apply(.createApp(bundleID: bundleID, team: team))
        apps.append(bundleID)
        if let app = current.apps[bundleID] { made.insert(app.id) }
        logger.notice("An app was made at first sight", metadata: ["app": "\(bundleID)", "team": "\(team)"])
        try await forgetOldest(besides: team)
    }

    /// The bundle ID of an unknown topic. If the topic ends like that of a service, it is the one before the suffix.
    private static func bundleID(of topic: String) -> BundleID? {
        BundleID(rawValue: String(topic.dropLast(TopicKind.ofUnknown(topic: topic).suffix.count)))
    }

    private func forgetOldest(besides newest: TeamID) async throws {
        let current = accounts.current
        teams.removeAll { current.teams[$0] == nil }
        apps.removeAll { current.apps[$0] == nil }
        while teams.count > limits.teams, let oldest = teams.first, oldest != newest {
            teams.removeFirst()
            guard isUnused(oldest) else { continue }
            _ = try await accounts.apply(.deleteTeam(oldest, at: clock.time))
            await devices.removeAll(of: oldest)
            keys.forget(oldest)
            let left = accounts.current
            apps.removeAll { left.apps[$0] == nil }
        }
        while apps.count > max(1, limits.apps) {
            guard let app = accounts.current.apps[apps.removeFirst()], isUnused(app.team) else { continue }
            _ = try await accounts.apply(.deleteApp(app.bundleID, at: clock.time))
            devices.removeApp(app.id)
        }
        let left = accounts.current
        made.keep { left.app($0) != nil }
    }

    /// Whether nobody has given a team a key or a certificate.
    private func isUnused(_ team: TeamID) -> Bool {
        let current = accounts.current
        return !current.keys.values.contains { $0.team == team }
            && !current.certificates.values.contains { $0.team == team }
    }
}
