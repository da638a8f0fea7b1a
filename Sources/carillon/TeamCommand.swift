import ArgumentParser
import Service

struct TeamCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "team", abstract: "Teams, the owners of apps and keys.", subcommands: [Create.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Make a team.")

        @OptionGroup var common: CommonOptions

        @Option(help: "The team's name, for people.")
        var name: String

        func run() async throws {
            let made: AdministrationMessages.TeamMade = try await common.runningService().administer(
                "POST", "/teams", AdministrationMessages.NewTeam(name: name))
            Output(isJSON: common.json).print(made, "Made the team \(made.teamID).")
        }
    }
}
