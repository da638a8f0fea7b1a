import ArgumentParser
import Crypto
import Foundation
import HTTPAPIClient
import Management
import Notifications
import Service
import Trust

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
        help: "Your own ID, ten capital letters and digits; chosen for you if it is not given.")
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
            return report(try await register(try Self.publicKey(in: publicKey)), path: nil)
        }
        let key = try privateKey.map(Self.privateKey) ?? P256.Signing.PrivateKey()
        guard let out else { return report(try await register(key.publicKey), path: nil) }
        let folder = try Self.makeFolder(out)
        if let keyID, FileManager.default.fileExists(atPath: Self.file(keyID, in: folder)) {
            throw CommandError("\(Self.file(keyID, in: folder)) is there already, and is not overwritten.")
        }
        // Create the file first. If that fails, no key is made: nobody would have its private half.
        let unnamed = folder + "/AuthKey_new_\(UUID().uuidString).p8"
        try DataFolder.write(key.pemRepresentation + "\n", to: unnamed)
        let made: ManagementMessages.KeyMade
        do {
            made = try await register(key.publicKey)
        } catch {
            try? FileManager.default.removeItem(atPath: unnamed)  // Report the first error, not this one.
            throw error
        }
        let path = Self.file(made.keyID, in: folder)
        do {
            try FileManager.default.moveItem(atPath: unnamed, toPath: path)
        } catch {
            throw CommandError(
                "The key \(made.keyID) was made, and its file \(unnamed) cannot be named \(path) "
                    + "(\(DataFolder.reason(error))).")
        }
        report(made, path: path)
    }

    private static func file(_ keyID: String, in folder: String) -> String { folder + "/AuthKey_\(keyID).p8" }

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

    private static func makeFolder(_ name: String) throws -> String {
        let folder = DataFolder(name).path
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw CommandError("The folder \(folder) cannot be made (\(DataFolder.reason(error))); name another.")
        }
        return folder
    }

    private static func text(of file: String) throws -> String {
        String(decoding: try InputFile.read(DataFolder(file).path, "key"), as: UTF8.self)
    }

    private static func privateKey(in file: String) throws -> P256.Signing.PrivateKey {
        // The error does not say why the key is invalid, because it could quote the key.
        let text = try text(of: file)
        guard let key = try? SigningKey.privateKey(pem: text) else {
            throw CommandError("\(file) is not a P-256 private key in PEM.")
        }
        return key
    }

    private static func publicKey(in file: String) throws -> P256.Signing.PublicKey {
        let text = try text(of: file)
        guard let key = try? P256.Signing.PublicKey(pemRepresentation: text) else {
            throw CommandError("\(file) is not a P-256 public key in PEM.")
        }
        return key
    }
}
