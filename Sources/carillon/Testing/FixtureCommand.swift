import ArgumentParser
import CommandSupport
import Foundation
import HTTPAPIClient
import Management
import Notifications
import Service

/// Makes everything that a test needs with one request, and removes it with another.
struct FixtureCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fixture",
        abstract: "Make teams, apps, keys, certificates and virtual devices for a test, and remove them.",
        subcommands: [Create.self, RemoveCommand<ManagementMessages.Team>.self],
    )

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make everything in a document, or nothing.",
            discussion: "With --json the completed document is printed: every identifier, key, certificate and token.",
        )

        @OptionGroup var common: CommonOptions

        @Argument(help: "The document, JSON; - for standard input.")
        var file: String

        @Flag(help: "Delete the document's teams first if they are there already.")
        var replace = false

        func run() async throws {
            let path = "/v1/fixtures" + (replace ? "?replace=true" : "")
            let completed: JSONValue = try await JSONFile(path: file).send {
                try await common.management().ask(.POST, path, $0)
            }
            let made: ManagementMessages.Fixture = try completed.decoded()
            common.output.print(completed, (made.teams ?? []).map(Self.text).joined(separator: "\n"))
        }

        private static func text(_ team: ManagementMessages.FixtureTeam) -> String {
            let apps = team.apps?.map(\.bundleID).joined(separator: ", ") ?? "no app"
            var lines = ["Made the team \(team.teamID ?? "") with \(apps)."]
            for key in team.keys ?? [] { lines.append("  key \(key.keyID ?? "")") }
            for certificate in team.certificates ?? [] { lines.append("  certificate \(certificate.serial ?? "")") }
            for device in team.devices ?? [] {
                lines.append("  device \(device.deviceID ?? "")  \(device.name ?? "")  \(device.behaviour?.kind ?? "")")
                for (app, token) in (device.tokens ?? [:]).sorted(by: { $0.key < $1.key }) {
                    lines.append("    \(app)  \(token)")
                }
            }
            return lines.joined(separator: "\n")
        }
    }
}
