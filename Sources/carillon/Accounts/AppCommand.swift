import ArgumentParser
import CommandSupport
import HTTPAPIClient
import Management
import Service

struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "Apps, which receive notifications.",
        subcommands: [
            Create.self, Change.self, ListCommand<ManagementMessages.App>.self,
            ShowCommand<ManagementMessages.App>.self,
            RemoveCommand<ManagementMessages.App>.self, AppUpstreamCommand.self,
        ])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Make an app of a team.")

        @OptionGroup var common: CommonOptions

        @Option(help: "The team's ID.")
        var team: String

        @Option(name: .customLong("bundle-id"), help: "The app's bundle ID.")
        var bundleID: String

        @Option(help: "Whether the app may have broadcast channels: on or off.")
        var broadcast: Switch = .on

        func run() async throws {
            let made: ManagementMessages.AppMade = try await common.management().ask(
                .POST, "/v1/apps",
                ManagementMessages.NewApp(
                    team: team, bundleID: bundleID, broadcast: broadcast == .on ? nil : false))
            let topics = made.topics.joined(separator: ", ")
            common.output.print(made, "Made the app \(made.bundleID) with the topics \(topics).")
        }
    }

    struct Change: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Switch an app's broadcast channels on or off.",
            discussion:
                "Switching them off deletes all channels of the app, in both environments. This cannot be undone.")

        @OptionGroup var common: CommonOptions

        @Option(name: .customLong("bundle-id"), help: "The app's bundle ID.")
        var bundleID: String

        @Option(help: "Whether the app may have broadcast channels: on or off.")
        var broadcast: Switch

        func run() async throws {
            let app: ManagementMessages.App = try await common.management().ask(
                .PATCH, try ManagementMessages.App.path(of: bundleID),
                ManagementMessages.AppChange(broadcast: broadcast == .on))
            common.output.print(app, "Switched the broadcast channels of \(app.bundleID) \(broadcast.rawValue).")
        }
    }

    enum Switch: String, ExpressibleByArgument, CaseIterable {
        case on
        case off
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

    var line: String {
        let forwarded = (upstreams ?? []).map { "  \($0.environment) forwarded to \($0.url)" }.joined()
        let channels = broadcast ? "" : "  no broadcast channels"
        return "\(bundleID)  team \(teamID)  topics: \(topics.joined(separator: ", "))\(channels)\(forwarded)"
    }

    static func line(_ deleted: ManagementMessages.App) -> String { "Deleted the app \(deleted.bundleID)." }
}
