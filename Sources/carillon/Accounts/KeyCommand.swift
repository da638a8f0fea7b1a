import APNSProvider
import ArgumentParser
import CommandSupport
import Foundation
import Management
import Service

struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Signing keys of teams, for provider tokens.",
        subcommands: [
            KeyCreateCommand.self, ListCommand<ManagementMessages.Key>.self, ShowCommand<ManagementMessages.Key>.self,
            RemoveCommand<ManagementMessages.Key>.self, Token.self,
        ],
    )

    struct Token: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a provider token, valid for an hour.",
            discussion: "For curl and other clients. Without credentials, the development team's key signs it.",
        )

        @OptionGroup var common: CommonOptions
        @OptionGroup var credentials: CredentialOptions

        func run() async throws {
            let now = UInt64(Date().timeIntervalSince1970)  // fits: the machine's clock
            let token = try credentials.credentials(common).token(at: now)
            common.output.print(["token": token], token)
        }
    }
}

extension ManagementMessages.Key: RemovableItem {
    static let path = "/v1/keys"
    static let plural = "signing keys"
    static let singular = "a signing key"
    static let argument = (help: "The key's ID", value: "key-id")

    var itemName: String { keyID }

    var line: String {
        let environments = environments.joined(separator: ", ")
        let apps = bundleIDs.map { "only for \($0.joined(separator: ", "))" } ?? "for all apps"
        let end = revoked.map { "  revoked \(dateText(milliseconds: $0))" } ?? ""
        return "\(keyID)  team \(teamID)  \(environments)  \(apps)\(end)"
    }

    static let removal = (
        command: "revoke",
        abstract: "Revoke a signing key at once. This cannot be undone.",
        discussion: ""
    )

    static func line(_ revoked: ManagementMessages.KeyRevoked) -> String { "Revoked the key \(revoked.keyID)." }
}
