import ArgumentParser
import CommandSupport
import Foundation
import HTTPAPIClient
import Management
import Service

struct AdministratorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "administrator",
        abstract: "Certificates for administration over TLS.",
        subcommands: [
            Create.self, ListCommand<ManagementMessages.Administrator>.self,
            ShowCommand<ManagementMessages.Administrator>.self, Revoke.self,
        ],
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
            let made: ManagementMessages.AdministratorMade = try await NewFile(path).fill {
                let made: ManagementMessages.AdministratorMade = try await common.management().ask(
                    .POST, "/v1/administrators")
                return (Array(made.identity.utf8), made)
            }
            common.output.print(
                ["serial": made.serial, "path": path], "Made the certificate \(made.serial): \(path)")
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke an administrator's certificate at once; its connections end. This cannot be undone.",
            discussion: """
                openssl x509 -noout -serial -in FILE prints the serial of a certificate. What its holder has made stays: keys, \
                certificates, activation codes, and sessions of the console, which carillon console --end ends.
                """,
        )

        @OptionGroup var common: CommonOptions

        @Argument(help: "The certificate's serial.")
        var serial: String

        @Flag(
            help: """
                Also revoke a certificate that is not listed, because an earlier release made it, or because the store was \
                restored from a backup. Only on the service's own machine.
                """)
        var unlisted = false

        func run() async throws {
            let path = try ManagementMessages.Administrator.path(of: serial)
            let revoked: ManagementMessages.AdministratorRevoked = try await common.management().ask(
                .DELETE, path + (unlisted ? "?unlisted=true" : ""))
            common.output.print(revoked, "Revoked the administrator \(revoked.serial).")
        }
    }
}

extension ManagementMessages.Administrator: AccountItem {
    static let path = "/v1/administrators"
    static let plural = "administrators' certificates that have not expired"
    static let singular = "an administrator's certificate"
    static let argument = (help: "The certificate's serial", value: "serial")

    var itemName: String { serial }

    var line: String {
        let begin = made.map { "made \(dateText(milliseconds: $0))" } ?? "not listed when it was made"
        return "\(serial)  \(begin)  until \(dateText(milliseconds: validUntil))"
            + (revoked.map { "  revoked \(dateText(milliseconds: $0))" } ?? "")
    }
}
