import ArgumentParser
import CommandSupport
import Delivery
import HTTPAPIClient
import Management
import Service

struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "Apps, which receive notifications.",
        subcommands: [
            Create.self, Change.self, Keep.self, ListCommand<ManagementMessages.App>.self,
            ShowCommand<ManagementMessages.App>.self,
            RemoveCommand<ManagementMessages.App>.self, AppUpstreamCommand.self,
            AppWebPushCommand.self,
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

        @Option(help: KeepHelp.keep)
        var keep: Int = 1

        func validate() throws { try KeepHelp.check(keep) }

        func run() async throws {
            let made: ManagementMessages.AppMade = try await common.management().ask(
                .POST, "/v1/apps",
                ManagementMessages.NewApp(
                    team: team, bundleID: bundleID, broadcast: broadcast == .on ? nil : false,
                    keep: keep == 1 ? nil : keep))
            let topics = made.topics.joined(separator: ", ")
            let kept = made.keep == 1 ? "" : " It keeps \(made.keep) notifications for a device that is offline."
            common.output.print(made, "Made the app \(made.bundleID) with the topics \(topics).\(kept)")
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

    struct Keep: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set how many notifications are kept for a device that is offline.",
            discussion:
                """
                With 1, the newest alone is kept, as by Apple's service. With more, they are kept in the order of arrival, \
                each until its expiration, 4 MiB together at most for each device; one with the same collapse identifier \
                takes an older one's place. Beyond that, and at once if the number becomes less, the oldest is dropped: \
                carillon log says dropped. An app with an upstream keeps 1.
                """)

        @OptionGroup var common: CommonOptions

        @Argument(help: KeepHelp.keep)
        var keep: Int

        @Option(name: .customLong("bundle-id"), help: "The app's bundle ID.")
        var bundleID: String

        func validate() throws { try KeepHelp.check(keep) }

        func run() async throws {
            let app: ManagementMessages.App = try await common.management().ask(
                .PATCH, try ManagementMessages.App.path(of: bundleID), ManagementMessages.AppChange(keep: keep))
            let kept = app.keep == 1 ? "the newest notification" : "the newest \(app.keep) notifications"
            common.output.print(app, "\(app.bundleID) keeps \(kept) for a device that is offline.")
        }
    }

    private enum KeepHelp {
        static let keep = ArgumentHelp(
            "How many notifications are kept for a device that is offline, from 1 to \(MailboxBound.maximumCount).",
            valueName: "n")

        static func check(_ keep: Int) throws {
            guard (1...MailboxBound.maximumCount).contains(keep) else {
                throw ValidationError("--keep has to be from 1 to \(MailboxBound.maximumCount).")
            }
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
        let forwarded = (upstreams ?? []).map { upstream in
            let refused = upstream.refused.map { ", \($0.line)" } ?? ""
            return "  \(upstream.environment) forwarded to \(upstream.url)\(refused)"
        }.joined()
        let channels = broadcast ? "" : "  no broadcast channels"
        let kept = keep == 1 ? "" : "  keeps \(keep)"
        return "\(bundleID)  team \(teamID)  topics: \(topics.joined(separator: ", "))\(channels)\(kept)\(forwarded)"
    }

    static func line(_ deleted: ManagementMessages.App) -> String { "Deleted the app \(deleted.bundleID)." }
}
