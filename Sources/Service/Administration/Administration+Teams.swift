import Delivery
import Notifications

// Teams and their apps.
extension Administration {
    func createTeam(_ request: AdministrationMessages.NewTeam) async throws -> AdministrationAnswer {
        let name = request.name
        // A control character in a name would reach the terminal of whoever lists it.
        guard (1...Team.maximumNameBytes).contains(name.utf8.count),
            !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw AdministrationError(
                "A team's name has 1 to \(Team.maximumNameBytes) bytes on one line, and no control characters.")
        }
        var random = SystemRandomNumberGenerator()
        let team = Team(id: .random(using: &random), name: name)
        _ = try await accounts.apply(.createTeam(team))
        return try .success(AdministrationMessages.TeamMade(teamID: team.id.rawValue))
    }

    func createApp(_ request: AdministrationMessages.NewApp) async throws -> AdministrationAnswer {
        let bundleID = try bundleID(request.bundleID)
        _ = try await accounts.apply(.createApp(bundleID: bundleID, team: try teamID(request.team)))
        return try .success(
            AdministrationMessages.AppMade(bundleID: bundleID.rawValue, topics: bundleID.certificateTopics))
    }

    func team(_ name: String) throws -> AdministrationMessages.Team {
        let id = try teamID(name)
        return message(try present(accounts.current.teams[id], "team", id))
    }

    func app(_ name: String) throws -> AdministrationMessages.App {
        let id = try bundleID(name)
        return message(try present(accounts.current.apps[id], "app", id))
    }

    func message(_ team: Team) -> AdministrationMessages.Team {
        let accounts = accounts.current
        return AdministrationMessages.Team(
            teamID: team.id.rawValue,
            name: team.name,
            bundleIDs: accounts.apps.values.filter { $0.team == team.id }.map(\.bundleID.rawValue).sorted(),
            keyIDs: accounts.keys.values.filter { $0.team == team.id }.map(\.id.rawValue).sorted(),
            serials: accounts.certificates.values.filter { $0.team == team.id }.map(\.serial.description).sorted(),
        )
    }

    func message(_ app: App) -> AdministrationMessages.App {
        AdministrationMessages.App(
            bundleID: app.bundleID.rawValue,
            teamID: app.team.rawValue,
            topics: TopicKind.allCases.map { app.bundleID.topic($0) },
        )
    }
}
