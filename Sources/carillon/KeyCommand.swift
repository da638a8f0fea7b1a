import APNSProvider
import ArgumentParser
import Crypto
import Foundation
import Notifications
import Service
import Trust

struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Keys, with which a team signs its provider tokens.",
        subcommands: [
            Create.self, ListCommand<AdministrationMessages.Key>.self, ShowCommand<AdministrationMessages.Key>.self,
            RevokeCommand<AdministrationMessages.Key>.self, Token.self,
        ],
    )

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a signing key.",
            discussion: "The private half is written to a file, once; the service keeps the public half alone.",
        )

        @OptionGroup var common: CommonOptions

        @Option(help: "The team's ID.")
        var team: String

        @Option(help: "The folder for AuthKey_<key ID>.p8.")
        var out: String

        @Option(help: "The only environment the key is good for; both unless named.")
        var environment: Environment?

        @Option(
            name: .customLong("bundle-id"),
            help: "An app the key is good for (repeatable); all of the team's unless named.")
        var bundleIDs: [String] = []

        func run() async throws {
            let administration = try common.administration()
            let folder = DataFolder(out).path
            do {
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            } catch {
                throw CommandError("The folder \(folder) cannot be made (\(DataFolder.reason(error))); name another.")
            }
            let privateKey = P256.Signing.PrivateKey()
            let publicKey = privateKey.publicKey.x963Representation.base64EncodedString()
            // The file before the key: one that cannot be written must not leave a key that nobody holds.
            let unnamed = folder + "/AuthKey_new_\(UUID().uuidString).p8"
            try DataFolder.write(privateKey.pemRepresentation + "\n", to: unnamed)
            do {
                let made: AdministrationMessages.KeyMade = try await administration.ask(
                    "POST", "/keys",
                    AdministrationMessages.NewKey(
                        team: team, publicKey: publicKey, environment: environment?.rawValue,
                        bundleIDs: bundleIDs.isEmpty ? nil : bundleIDs))
                let path = folder + "/AuthKey_\(made.keyID).p8"
                try FileManager.default.moveItem(atPath: unnamed, toPath: path)
                Output(isJSON: common.json).print(
                    Made(keyID: made.keyID, path: path), "Made the key \(made.keyID): \(path)")
            } catch {
                try? FileManager.default.removeItem(atPath: unnamed)  // The first error is the one to tell.
                throw error
            }
        }

        private struct Made: Encodable {
            let keyID: String
            let path: String
        }
    }

    struct Token: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a provider token, good for an hour.",
            discussion: "For curl and the like; with no credentials, it is signed with the development team's key.",
        )

        @OptionGroup var common: CommonOptions
        @OptionGroup var credentials: CredentialOptions

        func run() async throws {
            let now = UInt64(Date().timeIntervalSince1970)
            let token = try credentials.credentials(common).token(at: now)
            Output(isJSON: common.json).print(Made(token: token), token)
        }

        private struct Made: Encodable {
            let token: String
        }
    }
}

extension AdministrationMessages.Key: RevocableItem {
    static let path = "/keys"
    static let plural = "signing keys"
    static let singular = "a signing key"
    static let argument = (help: "The key's ID", value: "key-id")

    var line: String {
        let environments = environments.joined(separator: ", ")
        let apps = bundleIDs.map { "only for \($0.joined(separator: ", "))" } ?? "for all apps"
        let end = revoked.map { "  revoked \(shown($0))" } ?? ""
        return "\(keyID)  team \(teamID)  \(environments)  \(apps)\(end)"
    }

    static let consequence = ""

    static func line(_ revoked: AdministrationMessages.KeyMade) -> String { "Revoked the key \(revoked.keyID)." }
}
