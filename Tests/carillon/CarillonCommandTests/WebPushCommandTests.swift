import CommonTesting
import Foundation
import Service
import Testing

@testable import ServiceTesting

/// The documented behaviour of `carillon app web-push`.
@Suite(.timeLimit(.minutes(2))) struct WebPushCommandTests {
    @Test func `A template and the relay's URL are set, shown and removed`() async throws {
        try await withTemporaryFolder { folder in
            try await CarillonProcess.with { service in
                func webPush(_ command: String, _ more: [String] = []) async throws -> ChildProcess.Finished {
                    let place = ["--bundle-id", "com.example.app", "--environment", "production"]
                    return try await BuiltCommand.run(
                        ["app", "web-push", command] + place + more + ["--data", service.data, "--json"])
                }
                let relay = try await webPush("set", ["--relay-to", "--plain"])
                #expect(relay.status == 0, "\(relay.errors)")
                #expect(
                    try relay.object.keys == ["bundleID", "environment", "plain", "relayTo", "template"])
                #expect(relay.output.contains("🎺") && relay.output.contains(#""relayTo":true"#))
                #expect(try await webPush("show").output == relay.output)
                let named = try await webPush("set", ["--template", "toot-relay"])
                #expect(named.output.contains("🎺") && named.output.contains(#""relayTo":false"#), "\(named.errors)")
                let file = folder + "/template.json"
                try Data(#"{"aps":{},"n":1.0,"b":{"$webPush":"body"}}"#.utf8).write(to: URL(fileURLWithPath: file))
                let own = try await webPush("set", ["--template", file])
                #expect(own.status == 0 && own.output.contains(#""n":1.0"#), "\(own.errors)")
                try Data(#"{"aps":{},"b":{"$webPush":"all"}}"#.utf8).write(to: URL(fileURLWithPath: file))
                let wrong = try await webPush("set", ["--template", file])
                #expect(wrong.status != 0 && wrong.errors.contains("/b/$webPush"), "\(wrong.errors)")
                #expect(wrong.errors.components(separatedBy: "template.json").count == 2, "\(wrong.errors)")
                try Data(#"{"aps":{"a":""#.utf8 + [0xff] + #""}}"#.utf8).write(to: URL(fileURLWithPath: file))
                #expect(try await webPush("set", ["--template", file]).status != 0)
                #expect(try await webPush("remove").status == 0)
                let gone = try await webPush("show")
                #expect(gone.status != 0 && gone.errors.contains("no settings of Web Push"), "\(gone.errors)")
            }
        }
    }
}
