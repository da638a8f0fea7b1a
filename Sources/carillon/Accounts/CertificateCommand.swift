import ArgumentParser
import CommandSupport
import Credentials
import Crypto
import Foundation
import HTTPAPIClient
import Management
import Service

struct CertificateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "certificate",
        abstract: "Provider certificates, which a provider can use in place of a signing key.",
        subcommands: [
            Create.self, ListCommand<ManagementMessages.Certificate>.self,
            ShowCommand<ManagementMessages.Certificate>.self,
            RemoveCommand<ManagementMessages.Certificate>.self, RevocationListCommand.self,
        ],
    )

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a provider certificate.",
            discussion:
                "The command makes its key, which never leaves this machine. With --request the key exists already.",
        )

        @OptionGroup var common: CommonOptions

        @Option(help: "The team's ID.")
        var team: String

        @Option(name: .customLong("bundle-id"), help: "The app's bundle ID.")
        var bundleID: String

        @Option(help: "development, production, or universal for both.")
        var environment: String

        @Option(help: "The file for the certificate and its key; it must not exist yet.")
        var out: String

        @Option(help: "A certificate signing request (PKCS#10, PEM) for an existing key. The file then holds no key.")
        var request: String?

        @Option(help: "pem, or p12 for PKCS#12, which holds the certificate and the key.")
        var format: Format = .pem

        @Flag(help: "Add the intermediate that signed the certificate, for a server that does not know it.")
        var chain = false

        @Option(
            name: .customLong("passphrase-file"),
            help: "A file with the passphrase of the PKCS#12. A line break at its end does not count.")
        var passphraseFile: String?

        @Flag(
            name: [.customLong("single-topic"), .customLong("mdm")],
            help: "The only topic is the bundle ID, so requests need no apns-topic. Device management needs this too.")
        var singleTopic = false

        func validate() throws {
            guard ["development", "production", "universal"].contains(environment) else {
                throw ValidationError("The environment is development, production or universal, not \(environment).")
            }
            guard format == .p12 || passphraseFile == nil else {
                throw ValidationError("--passphrase-file needs --format p12.")
            }
            guard format == .pem || passphraseFile != nil else {
                throw ValidationError("--format p12 needs --passphrase-file; the file may be empty.")
            }
            guard format == .pem || request == nil else {
                throw ValidationError("--format p12 is for a key that the command makes, and not for a --request.")
            }
        }

        enum Format: String, ExpressibleByArgument, CaseIterable {
            case pem
            case p12
        }

        func run() async throws {
            let path = DataFolder(out).path
            let key = P256.Signing.PrivateKey()
            let keyPEM = request == nil ? key.pemRepresentation + "\n" : ""
            let signingRequest = try signingRequest(key)
            let passphrase = try passphraseFile.map(Self.passphrase(in:))
            let made: ManagementMessages.CertificateMade = try await NewFile(path).fill(with: keyPEM) {
                let made: ManagementMessages.CertificateMade = try await common.management().ask(
                    .POST, "/v1/certificates",
                    ManagementMessages.NewCertificate(
                        team: team, bundleID: bundleID, environment: environment, request: signingRequest,
                        listsTopics: !singleTopic, includesChain: chain))
                guard let passphrase else { return (Array((keyPEM + made.chain).utf8), made) }
                return (try PKCS12.bytes(chain: made.chain, privateKey: keyPEM, passphrase: passphrase), made)
            }
            common.output.print(
                Made(serial: made.serial, topics: made.topics, path: path),
                "Made the certificate \(made.serial) for \(made.topics.joined(separator: ", ")): \(path)")
        }

        private func signingRequest(_ key: P256.Signing.PrivateKey) throws -> String {
            guard let request else { return try SigningRequest.pem(for: key) }
            return try InputFile.text(DataFolder(request).path, "request")
        }

        private static func passphrase(in file: String) throws -> String {
            let path = DataFolder(file).path
            let data = try InputFile.read(path, "passphrase")
            // The error does not quote the passphrase.
            guard let text = String(data: data, encoding: .utf8), let line = Self.line(text), PKCS12.isAllowed(line)
            else {
                throw CommandError("The passphrase in \(path) has to be \(PKCS12.allowed), on one line.")
            }
            return line
        }

        /// The one line of a text; nil if there are several.
        private static func line(_ text: String) -> String? {
            let line = text.hasSuffix("\r\n") || text.hasSuffix("\n") ? String(text.dropLast()) : text
            return line.contains(where: \.isNewline) ? nil : line
        }

        private struct Made: Encodable {
            let serial: String
            let topics: [String]
            let path: String
        }
    }

    struct RevocationListCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "crl", abstract: "Write the list of revoked provider certificates, for other software.")

        @OptionGroup var common: CommonOptions

        @Option(help: "The file for the list, PEM.")
        var out: String

        func run() async throws {
            let der = try await common.management().answer(.GET, "/v1/crl").body
            let path = DataFolder(out).path
            try DataFolder.write(RevocationList(der: der).pem, to: path, isPublic: true)
            common.output.print(["path": path], "Wrote the list: \(path)")
        }
    }
}

extension ManagementMessages.Certificate: RemovableItem {
    static let path = "/v1/certificates"
    static let plural = "provider certificates"
    static let singular = "a provider certificate"
    static let argument = (help: "The certificate's serial", value: "serial")

    var itemName: String { serial }

    var line: String {
        let environments = environments.joined(separator: ", ")
        let end =
            revoked.map { "revoked \(dateText(milliseconds: $0))" } ?? "until \(dateText(milliseconds: validUntil))"
        return "\(serial)  \(bundleID)  team \(teamID)  \(environments)  \(end)"
    }

    static let removal = (
        command: "revoke",
        abstract: "Revoke a provider certificate at once; its connections end. This cannot be undone.",
        discussion: ""
    )

    static func line(_ revoked: ManagementMessages.CertificateRevoked) -> String {
        "Revoked the certificate \(revoked.serial)."
    }
}
