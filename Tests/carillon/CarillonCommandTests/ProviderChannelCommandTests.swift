import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// `carillon provider channel`.
@Suite(.timeLimit(.minutes(3))) struct ProviderChannelCommandTests {
    @Test func `A channel is made, listed, gets a message and is deleted`() async throws {
        try await CarillonProcess.with { carillon in
            try await ProviderServerProcess.run { server, _ in
                let bundleID = "com.example.app"
                _ = try await ProviderServerProcess.provider(
                    server.data, "app", "put", bundleID, "--carillon", carillon.data)
                let place = ["--bundle-id", bundleID, "--environment", "development"]
                func channel(_ arguments: String...) async throws -> ChildProcess.Finished {
                    try await BuiltCommand.run(
                        ["provider", "channel"] + arguments + place + ["--json", "--data", server.data])
                }
                let made = try await channel("create", "--keeps", "nothing").object
                let id = try made["id"]?.text.orThrow("no identifier") ?? ""
                #expect(made["keeps"] == "nothing" && made["environment"] == "development")
                #expect(try await channel("list").object["id"]?.text == id)
                let message = """
                    {"bundleID":"\(bundleID)","audience":{"channel":"\(id)","environment":"development"},
                    "payload":{"aps":{"event":"update","timestamp":1,"content-state":{"score":1}}}}
                    """
                let sent = try await BuiltCommand.run(
                    ["provider", "message", "send", "-", "--json", "--data", server.data], input: Array(message.utf8))
                #expect(sent.status == 0, "\(sent.errors)")
                #expect(try await channel("delete", id).object == ["id": .string(id)])
                let empty = try await channel("list")
                #expect(empty.status == 0 && empty.output.isEmpty)
                let missing = try await channel("delete", id)
                #expect(missing.status == 1 && missing.errors.contains("There is no such channel"))
            }
        }
    }
}
