import ArgumentParser
import CommandSupport
import Foundation
import HTTPAPIClient
import Notifications
import Service

struct ProviderAppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "The apps that the provider server sends to.",
        subcommands: [
            Put.self, ProviderListCommand<Item>.self, ProviderShowCommand<Item>.self, Delete.self, Key.self,
        ])

    enum Item: ProviderItem {
        typealias Scope = AnyApp
        static let path = "/v1/apps"
        static let kind = "app"
        static let identifier = (key: "bundleID", value: "bundle-id", help: "The app's bundle ID.")
        static let abstracts = (list: "List all apps.", show: "Show an app, without its keys.", delete: "")

        static func line(_ app: JSONValue) -> String {
            let environments = (app.members["environments"]?.members ?? [:]).sorted { $0.key < $1.key }
                .map { "\($0) at \($1["url"] ?? "")" }
            return
                "\(app["bundleID"] ?? "")  team \(app["teamID"] ?? "")  \(environments.joined(separator: ", "))"
        }
    }

    struct Put: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make an app, or change its servers and credentials.",
            discussion: """
                Give a signing key or a certificate for each environment that the app uses. What you do not give stays: the \
                other environment, the identity provider, and who says who the user is.
                """)

        @OptionGroup var options: ProviderOptions

        @Argument(help: ArgumentHelp("The app's bundle ID.", valueName: "bundle-id"))
        var bundleID: String

        @Option(
            help: "The data folder of a Carillon on this machine: sends to it, with its development team and key.",
            completion: .directory)
        var carillon: String?

        @Option(name: .customLong("team-id"), help: "The team's ID; for a new app, unless there is --carillon.")
        var teamID: String?

        @Option(name: .customLong("key-file"), help: "The signing key, a .p8 file.")
        var keyFile: String?

        @Option(name: .customLong("key-id"), help: "The signing key's ID.")
        var keyID: String?

        @Option(help: "A provider certificate with its key, PEM, instead of a signing key.")
        var certificate: String?

        @Option(help: "development or production; repeatable, production by default, development with --carillon.")
        var environment: [Environment] = []

        @Option(help: "The server to send to, https://host:port; Apple's by default.")
        var url: String?

        @Option(help: "The certificate that the server's certificate is verified with, PEM; the system's by default.")
        var authority: String?

        @Option(help: "The feedback service of the binary API, https://host:port; for apps with a certificate.")
        var feedback: String?

        @Option(help: "The management of broadcast channels, https://host:port; Apple's or the Carillon's by default.")
        var channels: String?

        @Option(help: "The issuer (iss) of your identity provider's tokens.")
        var issuer: String?

        @Option(help: "The audience (aud) that the tokens have to contain.")
        var audience: String?

        @Option(name: .customLong("keys-file"), help: "The identity provider's keys on the server's machine (JWKS).")
        var keysFile: String?

        @Flag(inversion: .prefixedNo, help: "Let the app itself say who its user is.")
        var acceptClaimedUsers: Bool?

        func run() async throws {
            let client = try options.client()
            let known = try await known(client)
            let own = try carillon.map { try ServiceDescription.find(DataFolder($0)) }
            guard let teamID = teamID ?? own?.key?.teamID ?? known["teamID"] else {
                throw ValidationError("A new app needs --team-id.")
            }
            let names = environment.isEmpty ? [carillon == nil ? .production : .development] : environment
            // The stored credentials stay if a place comes without any.
            var environments = JSONMembers(
                lastOf: (known.members["environments"]?.members ?? [:]).map { name, place in
                    (key: name, value: place.only(["url", "authority", "feedback", "channels"]))
                })
            for name in names { environments[name.rawValue] = try place(name, own) }
            let claims = acceptClaimedUsers.map(JSONValue.bool) ?? known.members["acceptsClaimedUsers"] ?? false
            var document: [String: JSONValue] = [
                "teamID": .string(teamID), "acceptsClaimedUsers": claims, "environments": .object(environments),
            ]
            document["identity"] = try identity() ?? known.members["identity"]
            let app =
                try await client
                .ask(.PUT, "/v1/apps/\(bundleID.percentEncoded)", .object(document))
            var lines = [Item.line(app)]
            if let key = app["clientKey"] { lines.append("The key for the app itself:     \(key)") }
            if let key = app["serverKey"] { lines.append("The key for the app's backend:  \(key)") }
            if lines.count > 1 { lines.append("Keep them: they are not shown again.") }
            options.output.print(app, lines.joined(separator: "\n"))
        }

        /// Returns the app as it is now; an empty object for a new one.
        private func known(_ client: APIClient) async throws -> JSONValue {
            var found: JSONValue = [:]
            try await client.list("/v1/apps") { if $0["bundleID"] == bundleID { found = $0 } }
            return found
        }

        /// Returns the server of one environment, and the credentials for it.
        /// - Parameter own: the Carillon that the app sends to; nil for another server.
        private func place(_ environment: Environment, _ own: ServiceDescription?) throws -> JSONValue {
            var place: [String: JSONValue] = [:]
            if let own {
                guard let addresses = own.addresses(environment) else {
                    throw ValidationError("This Carillon has no \(environment.rawValue) environment.")
                }
                place["url"] = .string("https://\(addresses.provider)")
                place["authority"] = .string(try InputFile.text(own.ca, "certificate"))
                place["channels"] = .string("https://\(addresses.channels)")
                if let key = own.key, keyFile == nil, certificate == nil {
                    place["key"] = [
                        "keyID": .string(key.keyID), "privateKey": .string(try InputFile.text(key.path, "signing key")),
                    ]
                }
            }
            if let url { place["url"] = .string(url) }
            if let authority { place["authority"] = .string(try InputFile.text(authority, "certificate")) }
            place["certificate"] = try certificate.map { .string(try InputFile.text($0, "certificate")) }
            if let keyFile, let keyID {
                place["key"] = [
                    "keyID": .string(keyID), "privateKey": .string(try InputFile.text(keyFile, "signing key")),
                ]
            } else if keyFile != nil || keyID != nil {
                throw ValidationError("--key-file and --key-id go together.")
            }
            place["feedback"] = feedback.map(JSONValue.string)
            if let channels { place["channels"] = .string(channels) }
            return .object(place)
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
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete an app at once, with its installations and messages. This cannot be undone.")

        @OptionGroup var options: ProviderOptions

        @Argument(help: ArgumentHelp("The app's bundle ID.", valueName: "bundle-id"))
        var bundleID: String

        func run() async throws {
            let app = try await options.client().ask(.DELETE, "/v1/apps/\(bundleID.percentEncoded)")
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
                .ask(.POST, "/v1/apps/\(bundleID.percentEncoded)/keys", document)
            options.output.print(answer, answer["key"])
        }
    }
}
