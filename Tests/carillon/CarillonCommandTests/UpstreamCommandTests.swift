import CommonTesting
import Crypto
import Foundation
import ProviderTesting
import Service
import Testing

@testable import ServiceTesting

/// The documented behaviour of `carillon app upstream`.
@Suite(.timeLimit(.minutes(2))) struct UpstreamCommandTests {
    @Test func `A person sees that the upstream refuses the gateway's own key`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream, status: 403, reason: "InvalidProviderToken") }) {
            server in
            try await withTemporaryFolder { folder in
                try await CarillonProcess.with { service in
                    let (authority, key) = (folder + "/ca.pem", folder + "/key.p8")
                    try Data(try TestAuthority.rootPEM().utf8).write(to: URL(fileURLWithPath: authority))
                    try Data(P256.Signing.PrivateKey().pemRepresentation.utf8).write(to: URL(fileURLWithPath: key))
                    let place = ["--bundle-id", "com.example.app", "--environment", "development"]
                    func shown(_ command: [String]) async throws -> String {
                        let finished = try await BuiltCommand.run(command + ["--data", service.data])
                        #expect(finished.status == 0, "\(finished.errors)")
                        return finished.output
                    }
                    let set = try await service.carillon(
                        ["app", "upstream", "set"] + place + [
                            "--url", "https://127.0.0.1:\(server.port)", "--ca", authority, "--key-file", key,
                            "--key-id", "GATEWAY001", "--team-id", "PUBLISHER1",
                        ])
                    #expect(set.status == 0, "\(set.errors)")
                    #expect(try await !shown(["app", "upstream", "show"] + place).contains("refused"))
                    let sent = try await service.carillon(
                        "send", "--token", String(repeating: "5a", count: 32), "--topic", "com.example.app", "--alert",
                        "x")
                    #expect(sent.status != 0)
                    for command in [["app", "upstream", "show"] + place, ["app", "list"]] {
                        let text = try await shown(command)
                        #expect(text.contains("refused: ") && text.contains("InvalidProviderToken"), "\(text)")
                    }
                }
            }
        }
    }

    @Test func `An upstream is set, shown without its secrets, and removed`() async throws {
        try await withTemporaryFolder { folder in
            try await CarillonProcess.with { service in
                let team = try await service.carillon("team", "create", "--name", "Other")
                let teamID = try team.object["teamID"].flatMap(\.text).orThrow(team.errors)
                let key = try await service.carillon("key", "create", "--team", teamID, "--out", folder)
                let keyID = try key.object["keyID"].flatMap(\.text).orThrow(key.errors)
                let place = ["--bundle-id", "com.example.app", "--environment", "production"]
                func upstream(_ command: String, _ more: [String] = []) async throws -> ChildProcess.Finished {
                    let arguments = ["app", "upstream", command] + place + more + ["--data", service.data, "--json"]
                    return try await BuiltCommand.run(arguments)
                }
                let set = try await upstream(
                    "set",
                    [
                        "--url", "https://127.0.0.1:9", "--ca", service.ready.ca, "--key-file",
                        "\(folder)/AuthKey_\(keyID).p8", "--key-id", keyID, "--team-id", teamID, "--proxy",
                        "http://127.0.0.1:8", "--hold", "PT1H", "--compare",
                    ])
                #expect(set.status == 0, "\(set.errors)")
                #expect(
                    try set.object.keys == [
                        "authority", "bundleID", "capture", "compare", "credentials", "environment", "hold", "proxy",
                        "url",
                    ])
                #expect(!set.output.contains("PRIVATE"))
                let shown = try await upstream("show")
                #expect(shown.output == set.output)
                let kept = try await upstream("set")
                #expect(kept.status == 0, "\(kept.errors)")
                #expect(try kept.object["url"]?.text == "https://api.push.apple.com")
                let contradiction = try await upstream("set", ["--passthrough", "--capture"])
                #expect(contradiction.status != 0 && contradiction.output.isEmpty)
                let incomplete = try await upstream("set", ["--key-file", "x"])
                #expect(incomplete.status != 0 && incomplete.errors.contains("go together"), "\(incomplete.errors)")
                #expect(try await upstream("remove").status == 0)
                let gone = try await upstream("show")
                #expect(gone.status != 0 && gone.errors.contains("has no upstream"), "\(gone.errors)")
            }
        }
    }
}
