import ArgumentParser
import HTTPAPIClient
import Management
import Service

struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "Apps, which receive notifications.",
        subcommands: [
            Create.self, ListCommand<ManagementMessages.App>.self, ShowCommand<ManagementMessages.App>.self,
            RemoveCommand<ManagementMessages.App>.self,
        ])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Make an app of a team.")

        @OptionGroup var common: CommonOptions

        @Option(help: "The team's ID.")
        var team: String

        @Option(name: .customLong("bundle-id"), help: "The app's bundle ID.")
        var bundleID: String

        func run() async throws {
            let made: ManagementMessages.AppMade = try await common.management().ask(
                .POST, "/v1/apps", ManagementMessages.NewApp(team: team, bundleID: bundleID))
            let topics = made.topics.joined(separator: ", ")
            common.output.print(made, "Made the app \(made.bundleID) with the topics \(topics).")
        }
    }
}

extension ManagementMessages.App: RemovableItem {
    static let path = "/v1/apps"
    static let plural = "apps"
    static let singular = "an app and all of its topics"
    static let argument = (help: "The app's bundle ID", value: "bundle-id")

    static let removal = (
        command: "delete",
        abstract:
            "Delete the app at once, with its certificates, registrations and stored notifications. This cannot be undone.",
        discussion: ""
    )

    var itemName: String { bundleID }

    var line: String { "\(bundleID)  team \(teamID)  topics: \(topics.joined(separator: ", "))" }

    static func line(_ deleted: ManagementMessages.App) -> String { "Deleted the app \(deleted.bundleID)." }
}
