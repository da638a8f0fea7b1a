import CommonTesting
import Foundation
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// `carillon serve`: its ready line and its end.
@Suite(.timeLimit(.minutes(2))) struct ServeCommandTests {
    /// A minimal container has no certificates of well-known authorities, and the service needs none.
    @Test(ServeCommandTests.canHideFolders)
    func `It starts without the systems authorities`() async throws {
        try await withTemporaryFolder { folder in
            let script = Self.hidingAuthorities + #"exec "$0" "$@""#
            let arguments = [
                "-rm", "sh", "-c", script, BuiltCommand.path, "serve", "--json", "--ports", "ephemeral", "--data",
                folder + "/data",
            ]
            try await ChildProcess.with("unshare", arguments) { child in
                let line = await child.output.nextLine()
                if line == nil { Issue.record("\(await child.finished().errors)") }
                #expect(line?.contains("ready") == true)
                child.signal(SIGTERM)
            }
        }
    }

    static let hidingAuthorities = "mount -t tmpfs none /etc/ssl && "

    static let canHideFolders: ConditionTrait = .enabled("needs unshare and the right to mount") {
        await canRun("unshare", "-rm", "sh", "-c", hidingAuthorities + "true")
    }

    private static let canDropCapabilities: ConditionTrait = .enabled("needs setpriv and the right to use it") {
        await canRun("setpriv", "--bounding-set=-all", "true")
    }

    /// Whether this machine has a program, and lets it do this.
    private static func canRun(_ program: String, _ arguments: String...) async -> Bool {
        (try? await ChildProcess.run(program, arguments).status) == 0
    }

    /// On a disk that is really full, neither the database nor any other file finds room.
    @Test(ServeCommandTests.canHideFolders)
    func `It starts on a full disk`() async throws {
        try await withTemporaryFolder { folder in
            let script = #"""
                serve() {
                    "$0" serve --json --ports ephemeral --environment development --data "$1/data" & echo $!; wait $!
                }
                mount -t tmpfs -o size=2m none "$1" && serve "$1" || exit
                cat /dev/zero > "$1/full" 2> /dev/null
                serve "$1"
                """#
            try await ChildProcess.with("unshare", ["-rm", "sh", "-c", script, BuiltCommand.path, folder]) { child in
                for isFull in [false, true] {
                    let process = await child.output.nextLine().flatMap { Int32($0) }
                    let line = await child.output.nextLine()
                    if line == nil { Issue.record("full: \(isFull): \(await child.finished().errors)") }
                    #expect(line?.contains("ready") == true)
                    kill(try #require(process), SIGTERM)
                }
                let errors = await child.finished().errors
                #expect(errors.contains("Commands cannot find the service until a file can be written"), "\(errors)")
                #expect(errors.contains("No space left on device"), "\(errors)")
            }
        }
    }

    /// Users other than root have no capabilities, and one of the sockets' options needs one.
    @Test(ServeCommandTests.canDropCapabilities)
    func `It serves without any capability`() async throws {
        try await withTemporaryFolder { folder in
            let data = folder + "/data"
            let arguments = [
                "--bounding-set=-all", BuiltCommand.path, "serve", "--json", "--ports", "ephemeral", "--data", data,
            ]
            try await ChildProcess.with("setpriv", arguments) { child in
                _ = await child.output.nextLine()
                let made = try await BuiltCommand.run(
                    ["device", "activate", "--data", data, "--out", folder + "/phone.pem"])
                #expect(made.status == 0, "\(made.errors)")
                child.signal(SIGTERM)
            }
        }
    }

    @Test func `The ready line names every listener and the authority`() async throws {
        try await CarillonProcess.with { service in
            let line = try FoundationJSON(service.readyLine)
            #expect(line.keys == ["event", "development", "production", "ca", "caPEM", "management"])
            #expect(line["event"] == "ready")
            #expect(line["ca"]?.text == service.data + "/ca.pem")
            for environment in ["development", "production"] {
                let addresses = try #require(line[environment])
                #expect(addresses.keys.isSuperset(of: ["provider", "courier"]))
                for name in addresses.keys {
                    let address = try #require(addresses[name]?.text)
                    #expect(address.hasPrefix("127.0.0.1:"))
                    #expect(Int(address.dropFirst("127.0.0.1:".count)) ?? 0 > 0)
                }
            }
        }
    }

    @Test func `Nothing but the ready line is on standard output`() async throws {
        try await CarillonProcess.with { service in
            let token = try await service.register("com.example.app", on: try await service.activate())
            _ = try await service.send(alert: "Hello", to: token)
            #expect(await service.stop().output == service.readyLine + "\n")
        }
    }

    @Test func `The data folder is its owners alone`() async throws {
        try await CarillonProcess.with { service in
            #expect(try permissions(ofFile: service.data) == 0o700)
            #expect(try permissions(ofFile: service.developmentKey.path) == 0o600)
            for name in try FileManager.default.contentsOfDirectory(atPath: service.data) where name != "ca.pem" {
                let mode = try #require(try permissions(ofFile: "\(service.data)/\(name)"))
                #expect(mode & 0o077 == 0, "\(name)")
            }
        }
    }

    @Test func `The data folder can come from the environment`() async throws {
        try await withTemporaryFolder { folder in
            try await CarillonProcess.with(data: folder + "/data") { _ in
                let made = try await BuiltCommand.run(
                    ["team", "create", "--name", "Team"], environment: ["CARILLON_DATA": folder + "/data"])
                #expect(made.status == 0, "\(made.errors)")
            }
        }
    }

    @Test func `The servers certificate has the names that were asked for`() async throws {
        try await CarillonProcess.with(["--hostname", "push.example.com"]) { service in
            let address = try service.addresses(.development).provider
            let port = try #require(address.split(separator: ":").last)
            for name in ["localhost", "push.example.com"] {
                let finished = try await ChildProcess.run(
                    "curl",
                    Curl.arguments(ca: service.ready.ca)
                        + ["--resolve", "\(name):\(port):127.0.0.1", "-o", "/dev/null", "-w", "%{http_code}"]
                        + ["https://\(name):\(port)/"])
                #expect(finished.output == "405", "\(finished.errors)")
            }
        }
    }

    @Test func `The first starts lines can be pasted and work`() async throws {
        try await withTemporaryFolder { folder in
            let arguments = ["serve", "--ports", "ephemeral", "--data", folder + "/data"]
            try await ChildProcess.with(BuiltCommand.path, arguments) { service in
                await service.output.wait(for: "/3/device/$TOKEN\n")
                // The commands to type are indented under a heading that ends with a colon.
                let lines = service.output.text.split(separator: "\n").drop { !$0.hasSuffix(":") }
                let commands = lines.filter { $0.hasPrefix("  ") && !$0.contains(" device listen ") }
                try #require(commands.contains { $0.contains(" send ") } && commands.contains { $0.contains("curl ") })
                let script = "set -e\n" + commands.joined(separator: "\n") + "\n"
                let finished = try await ChildProcess.run("sh", ["-c", script], folder: folder)
                #expect(finished.status == 0, "\(finished.errors)")
                #expect(finished.output.contains("Accepted"))
                // curl prints nothing if the answer is 200, and the reason otherwise.
                #expect(!finished.output.contains("reason"))
            }
        }
    }
}
