import ArgumentParser
import Service

struct TeamCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "team", abstract: "Teams, the owners of apps, keys and certificates.",
        subcommands: [
            Create.self, ListCommand<AdministrationMessages.Team>.self, ShowCommand<AdministrationMessages.Team>.self,
        ])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Make a team.")

        @OptionGroup var common: CommonOptions

        @Option(help: "The team's name, for people.")
        var name: String

        func run() async throws {
            let made: AdministrationMessages.TeamMade = try await common.administration().ask(
                "POST", "/teams", AdministrationMessages.NewTeam(name: name))
            Output(isJSON: common.json).print(made, "Made the team \(made.teamID).")
        }
    }
}

extension AdministrationMessages.Team: AccountItem {
    static let path = "/teams"
    static let plural = "teams"
    static let singular = "a team and what belongs to it"
    static let argument = (help: "The team's ID", value: "team-id")

    var line: String { "\(teamID)  \(name)  apps: \(bundleIDs.joined(separator: ", "))" }
}
