import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// The commands of docs/testing.md print what the page says.
@Suite(.timeLimit(.minutes(2))) struct DocumentedTestingTests {
    @Test func `A wait that times out explains itself`() async throws {
        try await CarillonProcess.with(["--store", "memory"]) { service in
            let waited = try await BuiltCommand.run([
                "wait", "--match", #"{"topic":"com.example.other"}"#, "--timeout", "0.01", "--data", service.data,
            ])
            #expect(waited.status == 1)
            #expect(waited.output.isEmpty)
            #expect(waited.errors.contains("0 requests matched within"))
            let wrong = try await BuiltCommand.run([
                "requests", "--match", #"{"topics":"x"}"#, "--data", service.data,
            ])
            #expect(wrong.status == 64)
            #expect(wrong.errors.contains("/topics"))
        }
    }

    @Test func `Fixtures and requests are printed as JSON`() async throws {
        try await CarillonProcess.with(["--store", "memory"]) { service in
            let document = service.data + "/fixture.json"
            try #"{"teams":[{"teamID":"ABCDE12345","apps":["com.example.shop"],"devices":[{}]}]}"#
                .write(toFile: document, atomically: true, encoding: .utf8)
            let made = try await BuiltCommand.run(["fixture", "create", document, "--json", "--data", service.data])
            #expect(made.status == 0, "\(made.errors)")
            let fixture = try FoundationJSON(made.output)
            #expect(fixture.keys == ["teams", "service"])
            let again = try await BuiltCommand.run(["fixture", "create", document, "--data", service.data])
            #expect(again.status == 1 && again.errors.contains("ABCDE12345"))
            #expect(again.errors.contains(#"fixture.json is wrong at "/teams/0/teamID""#), "\(again.errors)")
            let replaced = try await BuiltCommand.run([
                "fixture", "create", document, "--replace", "--data", service.data,
            ])
            #expect(replaced.status == 0, "\(replaced.errors)")
            let listed = try await BuiltCommand.run(["device", "list", "--json", "--data", service.data])
            let device = try #require(try FoundationJSON(listed.output)["deviceID"]?.text)
            let changed = try await BuiltCommand.run([
                "device", "behave", device, "removed", "--since", "1700000000000", "--json", "--data", service.data,
            ])
            #expect(try FoundationJSON(changed.output)["connected"] == .bool(false), "\(changed.errors)")
            let deleted = try await BuiltCommand.run([
                "fixture", "delete", "ABCDE12345", "--json", "--data", service.data,
            ])
            #expect(try FoundationJSON(deleted.output)["teamID"] == "ABCDE12345", "\(deleted.errors)")
            let cleared = try await BuiltCommand.run(["requests", "clear", "--json", "--data", service.data])
            #expect(try FoundationJSON(cleared.output)["deleted"]?.number == 0, "\(cleared.errors)")
        }
    }
}
