import ArgumentParser
import CommandSupport
import Crypto
import Foundation
import HTTPAPIClient
import Management
import Service

extension GrantCommand {
    struct Key: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Replace the keys of a grant: two of a kind are accepted at a time.",
            subcommands: [Add.self, End.self])

        struct Add: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Give a grant a second key, or a second client key. Both are accepted until you end one.",
                discussion: """
                    With --out, a new key is written to a file, once; give it to the instance. With --public-key the instance \
                    keeps its key, and gives you the public half. With --client it is a client key, which is printed.
                    """)

            @OptionGroup var common: CommonOptions

            @Argument(help: ArgumentHelp("The grant's ID.", valueName: "grant"))
            var grant: String

            @Flag(help: "A client key, with which the app on a phone makes handles.")
            var client = false

            @Option(
                name: .customLong("public-key"),
                help: "A file with the public half of the instance's new key (P-256), in PEM.")
            var publicKey: String?

            @Option(help: "The file for a new key. In a folder it is AuthKey_<key ID>.p8.")
            var out: String?

            func validate() throws {
                guard [client, publicKey != nil, out != nil].count(where: { $0 }) == 1 else {
                    throw ValidationError(
                        "Give one of --client, --public-key, and --out, the file for a new key.")
                }
            }

            func run() async throws {
                if client { return report(try await add(ManagementMessages.NewGrantKey(kind: "client")), path: nil) }
                if let publicKey { return report(try await add(try NewKeyFile.publicKey(in: publicKey)), path: nil) }
                let key = P256.Signing.PrivateKey()
                let file = DataFolder(out ?? ".").path
                var isFolder: ObjCBool = false
                if FileManager.default.fileExists(atPath: file, isDirectory: &isFolder), isFolder.boolValue {
                    let (made, path) = try await NewKeyFile(folder: file).fill(with: key) {
                        try await add(key.publicKey)
                    } keyID: {
                        $0.keyID
                    }
                    return report(made, path: path)
                }
                let made = try await NewKeyFile.write(key, to: file) { try await add(key.publicKey) }
                report(made, path: file)
            }

            private func add(_ key: P256.Signing.PublicKey) async throws -> ManagementMessages.GrantKeyMade {
                try await add(ManagementMessages.NewGrantKey(kind: "provider", publicKey: key.pemRepresentation))
            }

            private func add(_ key: ManagementMessages.NewGrantKey) async throws -> ManagementMessages.GrantKeyMade {
                try await common.management().ask(.POST, ManagementMessages.Grant.path(of: grant) + "/keys", key)
            }

            private func report(_ made: ManagementMessages.GrantKeyMade, path: String?) {
                let more = [path.map { "key file    \($0)" }, made.clientKey.map { "client key  \($0)" }].compactMap {
                    $0
                }
                common.output.print(
                    Made(keyID: made.keyID, kind: made.kind, path: path, clientKey: made.clientKey),
                    (["key ID      \(made.keyID)"] + more).joined(separator: "\n"))
            }

            private struct Made: Encodable {
                let keyID: String
                let kind: String
                let path: String?
                let clientKey: String?
            }
        }

        struct End: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "End one of two keys of a grant at once, on open connections too. This cannot be undone.")

            @OptionGroup var common: CommonOptions

            @Argument(help: ArgumentHelp("The grant's ID.", valueName: "grant"))
            var grant: String

            @Argument(help: ArgumentHelp("The key's ID, as the grant shows it.", valueName: "key"))
            var key: String

            func run() async throws {
                let changed: ManagementMessages.Grant = try await common.management().ask(
                    .DELETE, itemPath(ManagementMessages.Grant.path(of: grant) + "/keys", key, "The key's ID"))
                common.output.print(changed, "Ended the key \(key) of the grant \(changed.grant).")
            }
        }
    }

    struct Handles: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the handles of a grant.")

        @OptionGroup var common: CommonOptions

        @Argument(help: ArgumentHelp("The grant's ID.", valueName: "grant"))
        var grant: String

        @Flag(help: "Those that have ended, in place of the active ones.")
        var ended = false

        func run() async throws {
            let path = try ManagementMessages.Grant.path(of: grant) + "/handles?state=\(ended ? "ended" : "active")"
            let handles: [ManagementMessages.GrantHandle] = try await common.management().list(path, name: \.handle)
            for handle in handles { common.output.print(handle, GrantCommand.line(handle)) }
        }
    }

    struct Handle: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a handle of a grant.", subcommands: [Remove.self])

        struct Remove: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Remove a handle of a grant. The app can register its device token again.")

            @OptionGroup var common: CommonOptions

            @Argument(help: ArgumentHelp("The grant's ID.", valueName: "grant"))
            var grant: String

            @Argument(help: ArgumentHelp("The handle, 64 hexadecimal digits.", valueName: "handle"))
            var handle: String

            func run() async throws {
                let removed: ManagementMessages.GrantHandle = try await common.management().ask(
                    .DELETE, itemPath(ManagementMessages.Grant.path(of: grant) + "/handles", handle, "The handle"))
                common.output.print(removed, "Removed the handle \(removed.handle).")
            }
        }
    }

    private static func line(_ handle: ManagementMessages.GrantHandle) -> String {
        [
            handle.handle, handle.environment, handle.state, "made \(dateText(milliseconds: handle.made))",
            "registered \(dateText(milliseconds: handle.registered))",
        ].joined(separator: "  ")
    }
}
