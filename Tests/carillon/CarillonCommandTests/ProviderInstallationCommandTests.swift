import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// `carillon provider installation` and the lists of `carillon provider message`.
@Suite(.timeLimit(.minutes(3))) struct ProviderInstallationCommandTests {
    private static let place = ["--bundle-id", ProviderServerProcess.bundleID]

    private func run(
        _ server: ProviderServerProcess, _ arguments: [String], input: String = ""
    ) async throws -> ChildProcess.Finished {
        try await BuiltCommand.run(
            ["provider"] + arguments + ["--data", server.data] + Self.place, input: Array(input.utf8))
    }

    @Test func `An installation is put with values, patched, and found by its user`() async throws {
        try await ProviderServerProcess.run { server, folder in
            let put = try await run(
                server,
                [
                    "installation", "put", "phone", "--token", "00", "--environment", "development", "--app-version",
                    "2.1", "--time-zone", "Europe/Stockholm", "--value", "name=Anna", "--value", "count=3", "--value",
                    "code=\"7\"", "--value", "trial=true", "--json",
                ])
            #expect(put.status == 0, "\(put.errors)")
            let made = try FoundationJSON(put.output)
            #expect(made["values"] == ["name": "Anna", "count": 3, "code": "7", "trial": .bool(true)])
            #expect(made["appVersion"] == "2.1")
            let patched = try await run(
                server, ["installation", "patch", "phone", "-", "--json"], input: #"{"user":"anna","timeZone":null}"#)
            #expect(patched.status == 0, "\(patched.errors)")
            let changed = try FoundationJSON(patched.output)
            #expect(changed["user"] == "anna" && changed["timeZone"] == nil && changed["values"] == made["values"])
            let other = try await run(
                server, ["installation", "put", "tablet", "--token", "01", "--environment", "development"])
            #expect(other.status == 0, "\(other.errors)")
            let found = try await run(server, ["installation", "list", "--user", "anna"])
            #expect(found.output == "phone  development  user anna\n", "\(found.output)")
            let all = try await run(server, ["installation", "list"])
            #expect(all.output.split(separator: "\n").count == 2)
        }
    }

    @Test func `A fault in a patch is shown with its file and place`() async throws {
        try await ProviderServerProcess.run { server, folder in
            let file = folder + "/patch.json"
            try #"{"tags":["a b"]}"#.write(toFile: file, atomically: true, encoding: .utf8)
            let missing = try await run(server, ["installation", "patch", "phone", file])
            #expect(missing.status == 1 && missing.errors.contains("There is no installation phone"))
            _ = try await run(
                server, ["installation", "put", "phone", "--token", "00", "--environment", "development"])
            let refused = try await run(server, ["installation", "patch", "phone", file])
            #expect(refused.status == 1 && refused.errors.contains("patch.json"), "\(refused.errors)")
            #expect(refused.errors.contains("/tags/0"), "\(refused.errors)")
            let wrong = try await run(
                server,
                ["installation", "put", "phone", "--token", "00", "--environment", "development", "--value", "name"])
            #expect(wrong.status != 0 && wrong.errors.contains("name=value"), "\(wrong.errors)")
        }
    }

    @Test func `Messages are listed by app, and outcomes by what became of them`() async throws {
        try await ProviderServerProcess.run { server, _ in
            for id in ["a", "b"] {
                let put = try await run(
                    server,
                    ["installation", "put", id, "--token", "0\(id)", "--environment", "development"]
                        + (id == "a" ? ["--value", "name=\(String(repeating: "x", count: 200))"] : []))
                #expect(put.status == 0, "\(put.errors)")
            }
            // For one the value is missing, and for the other one the payload is too large: nothing is sent.
            let name = String(repeating: "{{name}}", count: 40)
            let message =
                #"{"bundleID":"\#(ProviderServerProcess.bundleID)","audience":{"everybody":true},"payload":{"aps":{"alert":"\#(name)"}}}"#
            func provider(_ arguments: [String]) async throws -> ChildProcess.Finished {
                try await BuiltCommand.run(
                    ["provider"] + arguments + ["--data", server.data], input: Array(message.utf8))
            }
            let sent = try await provider(["message", "send", "-", "--json"])
            let id = try FoundationJSON(sent.output)["id"]?.text.orThrow("no identifier") ?? ""
            let shown = try await provider(["message", "show", "--follow", id])
            #expect(shown.output.contains("finished  accepted 0  failed 2  total 2\n"), "\(shown.output)")
            #expect(shown.output.contains("\n  MissingValue: name  1\n"), "\(shown.output)")
            #expect(try await run(server, ["message", "list"]).output.hasPrefix(id))
            let other = try await provider(["message", "list", "--bundle-id", "com.example.none"])
            #expect(other.status == 1 && other.errors.contains("com.example.none"))
            for (option, count) in [("failed", 2), ("accepted", 0)] {
                let outcomes = try await provider(["message", "outcomes", id, "--outcome", option])
                #expect(outcomes.output.split(separator: "\n").count == count, "\(outcomes.errors)")
            }
            let csv = try await provider(["message", "outcomes", id, "--outcome", "failed", "--csv"])
            #expect(csv.output.split(whereSeparator: \.isNewline).count == 3, "\(csv.output)")
            let both = try await provider(["message", "outcomes", id, "--outcome", "failed", "--reason", "x"])
            #expect(both.status != 0 && both.errors.contains("not both"))
        }
    }
}
