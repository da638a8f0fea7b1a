import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// `carillon serve --store memory --ports ephemeral --json`, as a test suite or a CI job runs it.
@Suite(.timeLimit(.minutes(2))) struct MemoryServiceTests {
    private static let command = ["serve", "--store", "memory", "--ports", "ephemeral", "--json"]

    /// A service that runs, and what its ready line says.
    private struct Running {
        let child: ChildProcess
        let ready: FoundationJSON

        init(_ child: ChildProcess) async throws {
            self.child = child
            ready = try FoundationJSON(await child.output.nextLine().orThrow("it ended: \(child.errors.text)"))
        }

        /// Where other subcommands find it.
        var environment: [String: String] {
            get throws {
                let management = ready["management"]
                return [
                    "CARILLON_MANAGEMENT_URL": try management?["url"]?.text.orThrow("no URL") ?? "",
                    "CARILLON_MANAGEMENT_KEY": try management?["key"]?.text.orThrow("no key") ?? "",
                ]
            }
        }

        /// The addresses of all listeners. The management of channels is on the listener of the binary API.
        var addresses: [String] {
            ["development", "production"].flatMap { environment in
                let names = (ready[environment]?.keys ?? []).subtracting(["channels"])
                return names.compactMap { ready[environment]?[$0]?.text }
            } + [ready["management"]?["url"]?.text].compactMap(\.self)
        }
    }

    /// Runs a service for which `folder` is the system's temporary folder and the working folder.
    private static func with(_ folder: String, _ body: (Running) async throws -> Void) async throws {
        try await ChildProcess.with(BuiltCommand.path, command, environment: ["TMPDIR": folder], folder: folder) {
            try await body(try await Running($0))
        }
    }

    private static func isEmpty(_ folder: String) throws -> Bool {
        try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty
    }

    @Test func `The ready line has all that a test needs`() async throws {
        try await withTemporaryFolder { folder in
            try await Self.with(folder) { service in
                #expect(
                    service.ready.keys == ["event", "development", "production", "ca", "caPEM", "management"])
                #expect(service.ready["management"]?.keys.isSuperset(of: ["url", "key"]) == true)
                #expect(service.ready["caPEM"]?.text?.hasPrefix("-----BEGIN CERTIFICATE-----") == true)
                #expect(service.addresses.count >= 9)
                #expect(Set(service.addresses).count == service.addresses.count)
                await service.child.errors.wait(for: "The service is ready")
            }
        }
    }

    @Test func `With --until-input-ends it ends with its standard input, and leaves nothing behind`() async throws {
        try await withTemporaryFolder { folder in
            try await ChildProcess.with(
                BuiltCommand.path, Self.command + ["--until-input-ends"], environment: ["TMPDIR": folder],
                folder: folder, staysOpen: true
            ) { child in
                let service = try await Running(child)
                try child.type("This is discarded.\n")
                let health = try await BuiltCommand.run(["health"], environment: service.environment)
                #expect(health.status == 0, "\(health.errors)")
                child.closeInput()
                #expect(await child.finished().status == 0)
                #expect(try Self.isEmpty(folder))
            }
        }
    }

    @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
    func `It leaves nothing behind`(_ signal: Int32) async throws {
        try await withTemporaryFolder { folder in
            try await Self.with(folder) { service in
                let made = try await BuiltCommand.run(
                    ["fixture", "create", "-"], environment: service.environment,
                    input: Array(#"{"teams":[{"apps":["com.example.shop"],"devices":[{}]}]}"#.utf8))
                #expect(made.status == 0, "\(made.errors)")
                #expect(try !Self.isEmpty(folder))
                service.child.signal(signal)
                #expect(await service.child.finished().status == 0)
                #expect(try Self.isEmpty(folder))
            }
        }
    }

    @Test func `A start that fails leaves nothing behind`() async throws {
        try await withTemporaryFolder { folder in
            let finished = try await BuiltCommand.run(
                Self.command + ["--host", "192.0.2.1"], environment: ["TMPDIR": folder], folder: folder)
            #expect(finished.status != 0)
            #expect(try Self.isEmpty(folder), "\(finished.errors)")
        }
    }

    @Test func `Several run side by side`() async throws {
        try await withTemporaryFolder { folder in
            try await Self.with(folder) { first in
                try await Self.with(folder) { second in
                    #expect(Set(first.addresses).isDisjoint(with: second.addresses))
                    // The same team in both.
                    for service in [first, second] {
                        let health = try await BuiltCommand.run(["health", "--json"], environment: service.environment)
                        #expect(
                            health.status == 0 && health.output == #"{"status":"ready"}"# + "\n", "\(health.errors)")
                        let made = try await BuiltCommand.run(
                            ["fixture", "create", "-"], environment: service.environment,
                            input: Array(#"{"teams":[{"teamID":"ABCDE12345"}]}"#.utf8))
                        #expect(made.status == 0, "\(made.errors)")
                    }
                    let (environment, ended) = (try first.environment, first.child)
                    ended.signal(SIGTERM)
                    #expect(await ended.finished().status == 0)
                    #expect(try await BuiltCommand.run(["health"], environment: environment).status == 1)
                    #expect(try await BuiltCommand.run(["health"], environment: second.environment).status == 0)
                }
            }
        }
    }

    /// As docs/test-suites.md has it: everything set by the environment, and the key and the authority read from the data
    /// folder.
    @Test func `As a service container it is set by the environment`() async throws {
        try await withTemporaryFolder { folder in
            let environment = [
                "CARILLON_DATA": folder + "/data", "CARILLON_HOST": "0.0.0.0", "CARILLON_STORE": "memory",
                "CARILLON_MANAGEMENT": "0.0.0.0:0", "CARILLON_HOSTNAME": "apns", "CARILLON_PORTS": "ephemeral",
                "CARILLON_LOG_FORMAT": "json",
            ]
            try await ChildProcess.with(BuiltCommand.path, ["serve", "--json"], environment: environment) { child in
                let service = try await Running(child)
                let health = try await BuiltCommand.run(["health"], environment: environment)
                #expect(health.status == 0, "\(health.errors)")
                let key = try String(contentsOfFile: folder + "/data/management.key", encoding: .utf8)
                let port = try #require(service.ready["management"]?["url"]?.text?.split(separator: ":").last)
                let provider = try #require(service.ready["development"]?["provider"]?.text?.split(separator: ":").last)
                let teams = try await ChildProcess.run(
                    "curl",
                    Curl.arguments(ca: folder + "/data/ca.pem") + [
                        "--resolve", "apns:\(port):127.0.0.1", "-H",
                        "Authorization: Bearer " + key.trimmingCharacters(in: .whitespacesAndNewlines), "-w",
                        "%{http_code}", "-o", "/dev/null", "--http1.1", "http://apns:\(port)/v1/teams",
                    ])
                #expect(teams.output == "200", "\(teams.errors)")
                let answer = try await ChildProcess.run(
                    "curl",
                    Curl.arguments(ca: folder + "/data/ca.pem") + [
                        "--resolve", "apns:\(provider):127.0.0.1", "-w", "%{http_code}", "-o", "/dev/null",
                        "https://apns:\(provider)/",
                    ])
                #expect(answer.output == "405", "\(answer.errors)")
            }
        }
    }
}
