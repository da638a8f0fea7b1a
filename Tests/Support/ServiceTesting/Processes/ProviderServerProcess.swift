import CommonTesting
import Crypto
import Foundation

/// A running `carillon provider serve` with one app.
struct ProviderServerProcess {
    static let bundleID = "com.example.shop"

    let url: String
    let data: String
    let key: String

    /// - Parameter more: further options of `provider serve`.
    static func run(
        _ more: [String] = [], _ body: (ProviderServerProcess, _ folder: String) async throws -> Void
    ) async throws {
        try await withTemporaryFolder { folder in
            let data = folder + "/data"
            let arguments = ["provider", "serve", "--json", "--listen", "127.0.0.1:0", "--data", data] + more
            try await ChildProcess.with(BuiltCommand.path, arguments) { child in
                guard let line = await child.output.nextLine() else {
                    throw UnexpectedOutput(description: await child.finished().errors)
                }
                let url = try FoundationJSON(line)["url"]?.text.orThrow("no address") ?? ""
                let keyFile = folder + "/key.p8"
                try P256.Signing.PrivateKey().pemRepresentation.write(
                    toFile: keyFile, atomically: true, encoding: .utf8)
                let app = try await provider(
                    data, "app", "put", bundleID, "--environment", "development",
                    "--team-id", "ABCDE12345",
                    "--key-id", "KEY1234567", "--key-file", keyFile, "--url", "https://127.0.0.1:1")
                let key = try app["clientKey"]?.text.orThrow("no key") ?? ""
                try await body(ProviderServerProcess(url: url, data: data, key: key), folder)
            }
        }
    }

    static func provider(_ data: String, _ arguments: String...) async throws -> FoundationJSON {
        let finished = try await BuiltCommand.run(["provider"] + arguments + ["--json", "--data", data])
        guard finished.status == 0 else { throw UnexpectedOutput(description: finished.errors) }
        return try FoundationJSON(finished.output)
    }

    func show(_ id: String) async throws -> FoundationJSON {
        try await Self.provider(data, "installation", "show", id, "--bundle-id", Self.bundleID)
    }
}
