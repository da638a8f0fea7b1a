import CommonTesting
import Crypto
import Foundation
import Testing

@testable import ServiceTesting

/// `carillon serve` as a container runs it: with environment variables only (docs/containers.md).
@Suite("A service in a container", .startsPrograms, .timeLimit(.minutes(2)))
struct ContainerSettingsTests {
    private static let key = "0123456789abcdef"
    private static let settings = [
        "CARILLON_STORE": "memory", "CARILLON_PORTS": "ephemeral", "CARILLON_HOST": "0.0.0.0",
        "CARILLON_MANAGEMENT": "0.0.0.0:0", "CARILLON_MANAGEMENT_KEY": key, "CARILLON_HOSTNAME": "carillon,apns.test",
        "CARILLON_ACCEPT": "any", "CARILLON_ACCEPT_ANY_FROM": "0.0.0.0/0,::/0", "CARILLON_CLOCK": "virtual",
    ]

    /// Runs a service with variables only, and hands over its ready line.
    private static func run(
        _ change: [String: String] = [:],
        _ body: (FoundationJSON, ChildProcess) async throws -> Void,
    ) async throws {
        try await withTemporaryFolder { folder in
            let variables = settings.merging(change.merging(["TMPDIR": folder]) { $1 }) { $1 }
            try await ChildProcess.with(
                BuiltCommand.path, ["serve", "--json"], environment: variables, folder: folder
            ) { child in
                let line = try await child.output.nextLine().orThrow("it ended: \(child.errors.text)")
                try await body(FoundationJSON(line), child)
            }
        }
    }

    /// Asks the management API with curl.
    /// - Returns: the status, and the body.
    private static func ask(
        _ ready: FoundationJSON, _ path: String, _ arguments: String...
    ) async throws -> (
        status: String, body: String
    ) {
        let port = try (ready["management"]?["url"]?.text?.split(separator: ":").last).orThrow("no URL")
        let finished = try await ChildProcess.run(
            "curl",
            ["-q", "-sS", "--noproxy", "*", "--max-time", "60", "-w", "\n%{http_code}"] + arguments
                + ["http://127.0.0.1:\(port)\(path)"])
        let lines = finished.output.split(separator: "\n", omittingEmptySubsequences: false)
        return (String(lines.last ?? ""), lines.dropLast().joined(separator: "\n"))
    }

    @Test func `Readiness and the root certificate need no key, and everything else needs the variable's`()
        async throws
    {
        try await Self.run { ready, _ in
            #expect(ready["accept"]?.text == "any")
            #expect(ready["management"]?["key"]?.text == Self.key)
            #expect(try await Self.ask(ready, "/ready").status == "200")
            let authority = try await Self.ask(ready, "/ca.pem")
            #expect(authority.status == "200")
            #expect(
                ready["caPEM"]?.text?.hasPrefix(authority.body) == true && authority.body.contains("BEGIN CERTIFICATE"))
            #expect(try await Self.ask(ready, "/v1/teams").status == "401")
            #expect(try await Self.ask(ready, "/v1/teams", "-H", "Authorization: Bearer \(Self.key)").status == "200")
            // By a name of the variable, and by no other one.
            #expect(try await Self.ask(ready, "/ready", "-H", "Host: carillon:2198").status == "200")
            #expect(try await Self.ask(ready, "/ready", "-H", "Host: other:2198").status == "403")
            #expect(try await Self.ask(ready, "/v1/clock", "-H", "Authorization: Bearer \(Self.key)").status == "200")
        }
    }

    @Test func `The certificate has the names of the variable, and anything is accepted`() async throws {
        try await Self.run { ready, _ in
            try await withTemporaryFolder { folder in
                let place = try (ready["development"]?["provider"]?.text).orThrow("no provider")
                let port = try place.split(separator: ":").last.orThrow("no port")
                try (ready["caPEM"]?.text ?? "").write(toFile: folder + "/ca.pem", atomically: true, encoding: .utf8)
                let provider = Provider(teamID: "UNKNOWN123", keyID: "NEWKEY1234", key: .init())
                let token = String(repeating: "5e", count: 32)
                for name in ["carillon", "apns.test", "localhost"] {
                    let finished = try await ChildProcess.run(
                        "curl",
                        Curl.arguments(ca: folder + "/ca.pem") + [
                            "--resolve", "\(name):\(port):127.0.0.1", "-w", "%{http_code}",
                            "-H", "authorization: bearer \(try provider.token())", "-H",
                            "apns-topic: com.example.unknown",
                            "-d", #"{"aps":{"alert":"Hello"}}"#, "https://\(name):\(port)/3/device/\(token)",
                        ])
                    #expect(finished.output == "200", "\(finished.errors)")
                }
            }
        }
    }

    @Test func `The root certificate needs the key if something lasts`() async throws {
        let key = String(repeating: "k", count: 32)
        try await withTemporaryFolder { folder in
            let file = folder + "/key"
            try (key + "\n").write(toFile: file, atomically: true, encoding: .utf8)
            try await Self.run([
                "CARILLON_STORE": "sqlite", "CARILLON_MANAGEMENT_KEY_FILE": file, "CARILLON_DATA": folder + "/data",
                // As a shell has it in which the commands are used.
                "CARILLON_MANAGEMENT_URL": "http://127.0.0.1:1",
            ]) { ready, _ in
                let stranger = try await Self.ask(ready, "/ca.pem")
                #expect(stranger.status == "401")
                let administrator = try await Self.ask(ready, "/ca.pem", "-H", "Authorization: Bearer \(key)")
                #expect(administrator.status == "200")
                #expect(ready["management"]?["keyFile"]?.text == file)
            }
        }
    }

    @Test func `The log says loudly that anything is accepted`() async throws {
        try await Self.run { _, child in
            child.signal(SIGTERM)
            let finished = await child.finished()
            #expect(finished.errors.contains("Unknown teams, keys, topics and device tokens are accepted"))
        }
    }

    @Test(arguments: ["", "0123456789abcdef"])
    func `The log says that an empty key counts as none`(_ key: String) async throws {
        try await Self.run(["CARILLON_MANAGEMENT_KEY": key]) { ready, child in
            #expect((ready["management"]?["key"]?.text == key) != key.isEmpty)
            child.signal(SIGTERM)
            let finished = await child.finished()
            #expect(
                finished.errors.contains("The setting management-key is empty, so it counts as none") == key.isEmpty)
        }
    }

    @Test(arguments: [
        (["CARILLON_STORE": "sqlite", "CARILLON_DATA": "data"], ["--management-key-file", "CARILLON_MANAGEMENT_KEY"]),
        (["CARILLON_MANAGEMENT_KEY": "too short"], ["16"]),
        (["CARILLON_MANAGEMENT_KEY": "0123456789 abcdef"], ["visible"]),
        (["CARILLON_MANAGEMENT_KEY": "", "CARILLON_MANAGEMENT_KEY_FILE": "/nowhere/key"], ["/nowhere/key"]),
        (["CARILLON_ENVIRONMENT": "production", "CARILLON_CLOCK": "system"], ["accept", "development"]),
        (["CARILLON_ACCEPT": "known"], ["accept-any-from", "--accept any"]),
        (["CARILLON_ACCEPT": "everything"], ["accept", "known, any"]),
        (["CARILLON_ACCEPT_ANY_FROM": "192.0.2.1/24"], ["accept-any-from", "192.0.2.1/24"]),
    ])
    func `A setting that cannot be ends the start with one line`(
        _ change: [String: String],
        _ words: [String],
    ) async throws {
        try await withTemporaryFolder { folder in
            var variables = Self.settings.merging(change) { $1 }
            if variables["CARILLON_DATA"] != nil { variables["CARILLON_DATA"] = folder + "/data" }
            let finished = try await BuiltCommand.startInVain(["serve", "--json"], environment: variables)
            expectOneLine(finished)
            for word in words { #expect(finished.errors.contains(word), "\(finished.errors)") }
        }
    }
}
