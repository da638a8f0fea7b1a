import ArgumentParser
import Service

struct TeamCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "team", abstract: "Teams, the owners of apps, keys and certificates.",
        subcommands: [Create.self, List.self, Show.self])

    private static let listing = Listing<AdministrationMessages.Team>(path: "/teams") { team in
        "\(team.teamID)  \(team.name)  apps: \(team.bundleIDs.joined(separator: ", "))"
    }

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

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List all teams.")

        @OptionGroup var common: CommonOptions

        func run() async throws { try await listing.printAll(common) }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show a team and what belongs to it.")

        @OptionGroup var common: CommonOptions

        @Argument(help: "The team's ID.")
        var teamID: String

        func run() async throws { try await listing.print(teamID, common) }
    }
}
