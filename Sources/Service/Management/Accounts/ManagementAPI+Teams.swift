import Delivery
import Notifications
import VirtualDevices

// Creates and deletes teams and their apps.
extension ManagementAPI {
    func createTeam(_ request: ManagementMessages.NewTeam) async throws -> ManagementMessages.TeamMade {
        var random = SystemRandomNumberGenerator()
        let id = try request.teamID.map { try new($0, at: "/teamID") } ?? TeamID.random(using: &random)
        let team = Team(id: id, name: request.name)
        _ = try await accounts.apply(.createTeam(team))
        return ManagementMessages.TeamMade(teamID: team.id.rawValue)
    }

    func createApp(_ request: ManagementMessages.NewApp) async throws -> ManagementMessages.AppMade {
        let bundleID = try bundleID(request.bundleID)
        _ = try await accounts.apply(.createApp(bundleID: bundleID, team: try teamID(request.team)))
        if let broadcast = request.broadcast { _ = try await accounts.apply(.setBroadcasts(bundleID, broadcast)) }
        if let keep = request.keep { _ = try await accounts.apply(.setKeep(bundleID, keep)) }
        return ManagementMessages.AppMade(
            bundleID: bundleID.rawValue, topics: bundleID.certificateTopics, keep: request.keep ?? 1)
    }

    func team(_ name: String) throws -> ManagementMessages.Team {
        let (id, accounts) = (try teamID(name), accounts.current)
        return message(try present(accounts.teams[id], "team", id), accounts)
    }

    /// - Returns: the deleted team, with the apps and keys that it had.
    func deleteTeam(_ name: String) async throws -> ManagementMessages.Team {
        let team = try team(name)
        let id = try teamID(name)
        guard let devices = parts.testing?.devices else {
            _ = try await accounts.apply(.deleteTeam(id, at: now))
            return team
        }
        // Wait if a fixture is being made: it may use this team.
        try await devices.inTurn { [self] in try await remove(id) }
        return team
    }

    func app(_ name: String) throws -> ManagementMessages.App {
        let id = try bundleID(name)
        return message(try present(accounts.current.apps[id], "app", id))
    }

    func changeApp(_ name: String, _ change: ManagementMessages.AppChange) async throws -> ManagementMessages.App {
        let bundleID = try bundleID(name)
        let id = try present(accounts.current.apps[bundleID], "app", bundleID).id
        // First, because an app with an upstream refuses it.
        if let keep = change.keep { _ = try await accounts.apply(.setKeep(bundleID, keep)) }
        if let broadcast = change.broadcast {
            _ = try await accounts.apply(.setBroadcasts(bundleID, broadcast))
            if !broadcast {
                try await carryingOut { broadcasts async throws(Rejection) in try await broadcasts.removeAll(of: id) }
            }
        }
        return try app(name)
    }

    func deleteApp(_ name: String) async throws -> ManagementMessages.App {
        let app = try app(name)
        let id = accounts.current.apps[try bundleID(name)]?.id
        _ = try await accounts.apply(.deleteApp(try bundleID(name), at: now))
        if let id { parts.testing?.devices.removeApp(id) }
        return app
    }

    func message(_ team: Team, _ accounts: AccountsSnapshot) -> ManagementMessages.Team {
        ManagementMessages.Team(
            teamID: team.id.rawValue,
            name: team.name,
            bundleIDs: accounts.apps.values.filter { $0.team == team.id }.map(\.bundleID.rawValue).sorted(),
            keyIDs: accounts.keys.values.filter { $0.team == team.id }.map(\.id.rawValue).sorted(),
            serials: accounts.certificates.values.filter { $0.team == team.id }.map(\.serial.description).sorted(),
        )
    }

    func message(_ app: App) -> ManagementMessages.App {
        ManagementMessages.App(
            bundleID: app.bundleID.rawValue,
            teamID: app.team.rawValue,
            topics: app.bundleID.certificateTopics,
            broadcast: app.hasBroadcasts,
            keep: app.keep,
            upstreams: upstreams(of: app),
        )
    }

    private func upstreams(of app: App) -> [ManagementMessages.UpstreamAddress]? {
        let upstreams = accounts.current.upstreams
        guard !upstreams.isEmpty else { return nil }
        let refusals = parts.upstreamRefusals()
        let own = Environment.allCases.compactMap { environment in
            let place = UpstreamPlace(bundleID: app.bundleID, environment: environment)
            return upstreams[place].map {
                ManagementMessages.UpstreamAddress(
                    environment: environment.rawValue, url: $0.url, refused: refusals[place].map { .init($0) })
            }
        }
        return own.isEmpty ? nil : own
    }
}
