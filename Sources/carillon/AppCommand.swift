import ArgumentParser
import Service

struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "Apps, which notifications are for.",
        subcommands: [Create.self, List.self, Show.self])

    private static let listing = Listing<AdministrationMessages.App>(path: "/apps") { app in
        "\(app.bundleID)  team \(app.teamID)  topics: \(app.topics.joined(separator: ", "))"
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Make an app of a team.")

        @OptionGroup var common: CommonOptions

        @Option(help: "The team's ID.")
        var team: String

        @Option(name: .customLong("bundle-id"), help: "The app's bundle ID.")
        var bundleID: String

        func run() async throws {
            let made: AdministrationMessages.AppMade = try await common.administration().ask(
                "POST", "/apps", AdministrationMessages.NewApp(team: team, bundleID: bundleID))
            let topics = made.topics.joined(separator: ", ")
            Output(isJSON: common.json).print(made, "Made the app \(made.bundleID) with the topics \(topics).")
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List all apps.")

        @OptionGroup var common: CommonOptions

        func run() async throws { try await listing.printAll(common) }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show an app and all of its topics.")

        @OptionGroup var common: CommonOptions

        @Argument(help: "The app's bundle ID.")
        var bundleID: String

        func run() async throws { try await listing.print(bundleID, common) }
    }
}
