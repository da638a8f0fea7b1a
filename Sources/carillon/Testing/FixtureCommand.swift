import ArgumentParser
import Foundation
import Management
import Notifications
import Service

/// Makes everything that a test needs with one request, and removes it with another.
struct FixtureCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fixture",
        abstract: "Make teams, apps, keys, certificates and virtual devices for a test, and remove them.",
        subcommands: [Create.self, Delete.self],
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
            let document = try JSONFile.read(file)
            let path = "/v1/fixtures" + (replace ? "?replace=true" : "")
            let completed: JSONValue
            do {
                completed = try await common.management().ask(.post, path, document)
            } catch let error as CommandError {
                throw error.inFile(file)
            }
            let made = try JSONDecoder().decode(
                ManagementMessages.Fixture.self, from: JSONEncoder().encode(completed))
            Output(isJSON: common.json).print(completed, (made.teams ?? []).map(Self.text).joined(separator: "\n"))
        }

        private static func text(_ team: ManagementMessages.FixtureTeam) -> String {
            var lines = ["Made the team \(team.teamID ?? "") with \(team.apps?.joined(separator: ", ") ?? "no app")."]
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

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a team with everything that belongs to it.")

        @OptionGroup var common: CommonOptions

        @Argument(help: "The team's ID.")
        var team: String

        func run() async throws {
            let deleted: ManagementMessages.Team = try await common.management().ask(
                .delete, ManagementMessages.Team.path(of: team))
            Output(isJSON: common.json).print(deleted, "Deleted the team \(deleted.teamID).")
        }
    }
}

/// Reads a JSON document for a command.
enum JSONFile {
    /// - Parameter name: the file's name; `-` for standard input.
    static func read(_ name: String) throws -> JSONValue {
        let contents =
            name == "-"
            ? try FileHandle.standardInput.readToEnd()
            : FileManager.default.contents(atPath: DataFolder(name).path)
        guard let contents else { throw CommandError("The document \(name) cannot be read.") }
        return try read(text: contents, "The document \(name)")
    }

    static func read(text: Data, _ what: String) throws -> JSONValue {
        do {
            return try JSONDecoder().decode(JSONValue.self, from: text)
        } catch {
            throw CommandError("\(what) is not JSON.")
        }
    }
}
