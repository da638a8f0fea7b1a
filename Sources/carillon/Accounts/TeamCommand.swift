import ArgumentParser
import CommandSupport
import HTTPAPIClient
import Management
import Service

struct TeamCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "team", abstract: "Teams, the owners of apps, keys and certificates.",
        subcommands: [
            Create.self, ListCommand<ManagementMessages.Team>.self, ShowCommand<ManagementMessages.Team>.self,
            RemoveCommand<ManagementMessages.Team>.self,
        ])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Make a team.")

        @OptionGroup var common: CommonOptions

        @Option(help: "The team's name, for people.")
        var name: String

        @Option(
            name: .customLong("team-id"),
            help: "Your own ID, such as ten capital letters and digits; chosen for you if it is not given.")
        var teamID: String?

        func run() async throws {
            let made: ManagementMessages.TeamMade = try await common.management().ask(
                .POST, "/v1/teams", ManagementMessages.NewTeam(name: name, teamID: teamID))
            common.output.print(made, "Made the team \(made.teamID).")
        }
    }
}

extension ManagementMessages.Team: RemovableItem {
    static let path = "/v1/teams"
    static let plural = "teams"
    static let singular = "a team and what belongs to it"
    static let argument = (help: "The team's ID", value: "team-id")

    static let removal = (
        command: "delete",
        abstract: "Delete the team at once, with its apps, keys and certificates. This cannot be undone.",
        discussion: ""
    )

    var itemName: String { teamID }

    var line: String { "\(teamID)  \(name)  apps: \(bundleIDs.joined(separator: ", "))" }

    static func line(_ deleted: ManagementMessages.Team) -> String { "Deleted the team \(deleted.teamID)." }
}
