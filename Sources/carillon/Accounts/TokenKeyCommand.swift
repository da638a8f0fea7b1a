import ArgumentParser
import CommandSupport
import HTTPAPIClient
import Management
import Service

struct TokenKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token-key", abstract: "The key that seals device tokens.", subcommands: [Rotate.self])

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a new key for the device tokens of new registrations; earlier tokens stay valid.")

        @OptionGroup var common: CommonOptions

        func run() async throws {
            let made: ManagementMessages.TokenKey = try await common.management().ask(
                .POST, "/v1/token-keys")
            common.output.print(made, "Device tokens are now sealed with key \(made.tokenKeyID).")
        }
    }
}
