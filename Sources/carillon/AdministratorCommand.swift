import ArgumentParser
import Foundation
import Management
import Service

struct AdministratorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "administrator",
        abstract: "Certificates for administration over TLS.",
        subcommands: [Create.self],
    )

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make an administrator's certificate, valid for 30 days.",
            discussion: """
                Use it to run the commands from another machine: set CARILLON_MANAGEMENT_URL to \
                https://host:port, CARILLON_ADMINISTRATOR to the file, and CARILLON_CA to the service's root certificate.
                """,
        )

        @OptionGroup var common: CommonOptions

        @Option(help: "The file for the key and the certificate, PEM; it must not exist yet.")
        var out: String

        func run() async throws {
            let path = DataFolder(out).path
            let made: ManagementMessages.Administrator = try await NewFile(path).fill {
                let made: ManagementMessages.Administrator = try await common.management().ask(
                    .post, "/v1/administrators")
                return (Array(made.identity.utf8), made)
            }
            Output(isJSON: common.json).print(
                Made(serial: made.serial, path: path), "Made the certificate \(made.serial): \(path)")
        }

        private struct Made: Encodable {
            let serial: String
            let path: String
        }
    }
}
