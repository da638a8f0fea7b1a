import ArgumentParser
import CommandSupport
import Crypto
import Foundation
import HTTPAPIClient
import Management
import Notifications
import Service

struct KeyCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make a signing key, or register one that the team already has.",
        discussion: """
            The private half is written to a file, once; the service keeps only the public half. With --private-key or \
            --public-key you register an existing key, such as the .p8 file that a team's tests use already.
            """,
    )

    @OptionGroup var common: CommonOptions

    @Option(help: "The team's ID.")
    var team: String

    @Option(help: "The folder for AuthKey_<key ID>.p8; not needed for a key that exists.")
    var out: String?

    @Option(
        name: .customLong("key-id"),
        help: "Your own ID, such as ten capital letters and digits; chosen for you if it is not given.")
    var keyID: String?

    @Option(
        name: .customLong("private-key"),
        help: "A file with a P-256 key in PEM, as a .p8 file; its private half stays on this machine.")
    var privateKey: String?

    @Option(name: .customLong("public-key"), help: "A file with the public half of a P-256 key in PEM.")
    var publicKey: String?

    @Option(help: "The only environment that the key is for; both if it is not given.")
    var environment: Environment?

    @Option(
        name: .customLong("bundle-id"),
        help: "An app that the key is for (repeatable); all of the team's if it is not given.")
    var bundleIDs: [String] = []

    func validate() throws {
        guard privateKey == nil || publicKey == nil else {
            throw ValidationError("Give --private-key or --public-key, not both.")
        }
        guard out != nil || privateKey != nil || publicKey != nil else {
            throw ValidationError("Missing expected argument '--out <out>': the folder for the new key's file.")
        }
        guard out == nil || publicKey == nil else {
            throw ValidationError("--out writes a private key to a file, and --public-key has none.")
        }
    }

    func run() async throws {
        if let publicKey {
            return report(try await register(try NewKeyFile.publicKey(in: publicKey)), path: nil)
        }
        let key = try privateKey.map(NewKeyFile.privateKey) ?? P256.Signing.PrivateKey()
        guard let out else { return report(try await register(key.publicKey), path: nil) }
        let file = try NewKeyFile(folder: out)
        if let keyID, FileManager.default.fileExists(atPath: file.path(keyID)) {
            throw CommandError("\(file.path(keyID)) is there already, and is not overwritten.")
        }
        let (made, path) = try await file.fill(with: key) {
            try await register(key.publicKey)
        } keyID: {
            $0.keyID
        }
        report(made, path: path)
    }

    private func register(_ key: P256.Signing.PublicKey) async throws -> ManagementMessages.KeyMade {
        try await common.management().ask(
            .POST, "/v1/keys",
            ManagementMessages.NewKey(
                team: team, keyID: keyID, publicKey: key.pemRepresentation, environment: environment?.rawValue,
                bundleIDs: bundleIDs.isEmpty ? nil : bundleIDs))
    }

    private func report(_ made: ManagementMessages.KeyMade, path: String?) {
        common.output.print(
            Made(keyID: made.keyID, path: path),
            path.map { "Made the key \(made.keyID): \($0)" } ?? "The team has the key \(made.keyID).")
    }

    private struct Made: Encodable {
        let keyID: String
        let path: String?
    }
}
