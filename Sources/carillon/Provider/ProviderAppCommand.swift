import ArgumentParser
import Foundation
import NIOHTTP1
import Notifications

struct ProviderAppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "The apps that the provider server sends to.",
        subcommands: [Put.self, List.self, Show.self, Delete.self, Key.self])

    /// Describes an app in one line for a person.
    private static func line(_ app: JSONValue) -> String {
        var environments = ""
        if case .object(let members) = app, case .object(let known)? = members["environments"] {
            environments = known.keys.sorted().map { "\($0) at \(known[$0]?["url"] ?? "")" }.joined(separator: ", ")
        }
        return "\(app["bundleID"] ?? "")  team \(app["teamID"] ?? "")  \(environments)"
    }

    struct Put: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make an app, or change its servers and credentials.",
            discussion: "Give a signing key or a certificate for each environment that the app uses.")

        @OptionGroup var options: ProviderOptions

        @Argument(help: ArgumentHelp("The app's bundle ID.", valueName: "bundle-id"))
        var bundleID: String

        @Option(name: .customLong("team-id"), help: "The team's ID.")
        var teamID: String

        @Option(name: .customLong("key-file"), help: "The signing key, a .p8 file.")
        var keyFile: String?

        @Option(name: .customLong("key-id"), help: "The signing key's ID.")
        var keyID: String?

        @Option(help: "A provider certificate with its key, PEM, instead of a signing key.")
        var certificate: String?

        @Option(help: "development or production; repeatable, production by default.")
        var environment: [Environment] = []

        @Option(help: "The server to send to, https://host:port; Apple's by default.")
        var url: String?

        @Option(help: "The certificate that the server's certificate is verified with, PEM; the system's by default.")
        var authority: String?

        @Option(help: "The feedback service of the binary API, host:port; for apps with a certificate.")
        var feedback: String?

        @Option(help: "The issuer (iss) of your identity provider's tokens.")
        var issuer: String?

        @Option(help: "The audience (aud) that the tokens have to contain.")
        var audience: String?

        @Option(name: .customLong("keys-file"), help: "The identity provider's keys on the server's machine (JWKS).")
        var keysFile: String?

        @Flag(name: .customLong("accept-claimed-users"), help: "Let the app itself say who its user is.")
        var acceptsClaimedUsers = false

        func run() async throws {
            var place: [String: JSONValue] = [:]
            place["url"] = url.map(JSONValue.string)
            place["authority"] = try authority.map { .string(try text($0, "certificate")) }
            place["certificate"] = try certificate.map { .string(try text($0, "certificate")) }
            if let keyFile, let keyID {
                place["key"] = ["keyID": .string(keyID), "privateKey": .string(try text(keyFile, "signing key"))]
            } else if keyFile != nil || keyID != nil {
                throw ValidationError("--key-file and --key-id go together.")
            }
            let names = environment.isEmpty ? [.production] : environment
            place["feedback"] = feedback.map(JSONValue.string)
            var document: [String: JSONValue] = [
                "teamID": .string(teamID), "acceptsClaimedUsers": .bool(acceptsClaimedUsers),
                "environments": .object(
                    Dictionary(names.map { ($0.rawValue, .object(place)) }, uniquingKeysWith: { $1 })),
            ]
            document["identity"] = try identity()
            let app = try await options.client()
                .ask(.PUT, "/v1/apps/\(escaped(bundleID))", Array(JSONValue.object(document).text.utf8))
            var lines = [ProviderAppCommand.line(app)]
            if let key = app["clientKey"] { lines.append("The key for the app itself:     \(key)") }
            if let key = app["serverKey"] { lines.append("The key for the app's backend:  \(key)") }
            if lines.count > 1 { lines.append("Keep them: they are not shown again.") }
            options.output.print(app, lines.joined(separator: "\n"))
        }

        private func identity() throws -> JSONValue? {
            guard issuer != nil || audience != nil || keysFile != nil else { return nil }
            guard let issuer, let audience, let keysFile else {
                throw ValidationError("--issuer, --audience and --keys-file go together.")
            }
            // The server reads the file, perhaps from another working directory.
            let file = URL(fileURLWithPath: keysFile).path
            return ["issuer": .string(issuer), "audience": .string(audience), "keysFile": .string(file)]
        }

        private func text(_ path: String, _ meaning: String) throws -> String {
            String(decoding: try InputFile.read(path, meaning), as: UTF8.self)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List all apps.")

        @OptionGroup var options: ProviderOptions

        func run() async throws {
            try await options.client().list("/v1/apps") { options.output.print($0, ProviderAppCommand.line($0)) }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show an app, without its keys.")

        @OptionGroup var options: ProviderOptions

        @Argument(help: ArgumentHelp("The app's bundle ID.", valueName: "bundle-id"))
        var bundleID: String

        func run() async throws {
            let app = try await options.client().ask(.GET, "/v1/apps/\(escaped(bundleID))")
            options.output.print(app, ProviderAppCommand.line(app))
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete an app at once, with its installations and messages. This cannot be undone.")

        @OptionGroup var options: ProviderOptions

        @Argument(help: ArgumentHelp("The app's bundle ID.", valueName: "bundle-id"))
        var bundleID: String

        func run() async throws {
            let app = try await options.client().ask(.DELETE, "/v1/apps/\(escaped(bundleID))")
            options.output.print(app, "Deleted the app \(bundleID).")
        }
    }

    struct Key: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Replace the key of an app or of its backend. The old key is invalid at once.")

        @OptionGroup var options: ProviderOptions

        @Argument(help: ArgumentHelp("The app's bundle ID.", valueName: "bundle-id"))
        var bundleID: String

        @Option(help: "client, the key in the app itself; or server, the backend's.")
        var role: String

        func run() async throws {
            let document: JSONValue = ["key": .string(role)]
            let answer = try await options.client()
                .ask(.POST, "/v1/apps/\(escaped(bundleID))/keys", Array(document.text.utf8))
            options.output.print(answer, answer["key"])
        }
    }
}
