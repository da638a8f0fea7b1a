import CommonTesting
import Crypto
import Foundation
import ProviderTesting
import Testing

@testable import APNSProvider

/// The article's code compiles, and works.
@Suite(.timeLimit(.minutes(1))) struct GettingStartedTests {
    private static let article = Repository.file("Sources/Libraries/APNSProvider/APNSProvider.docc/GettingStarted.md")
    private static let code = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().appendingPathComponent("GettingStartedCode.swift")

    /// The lines of each block of Swift code in the article, without their indentation.
    private static func blocks() throws -> [String] {
        try String(contentsOf: article, encoding: .utf8).components(separatedBy: "```swift\n").dropFirst().map {
            unindented(String($0.prefix(upTo: $0.range(of: "\n```")?.lowerBound ?? $0.endIndex)))
        }
    }

    private static func unindented(_ text: String) -> String {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "\n")
    }

    @Test func `Every block of the article is compiled`() throws {
        let compiled = Self.unindented(try String(contentsOf: Self.code, encoding: .utf8))
        let blocks = try Self.blocks()
        #expect(blocks.count == 12)
        for block in blocks { #expect(compiled.contains(block), "not in GettingStartedCode.swift: \(block)") }
    }

    @Test func `The first example sends`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).p8")
            try P256.Signing.PrivateKey().pemRepresentation.write(to: file, atomically: true, encoding: .utf8)
            defer { try? FileManager.default.removeItem(at: file) }
            try await GettingStarted.sendOne(
                keyFile: file.path, keyID: "ABC123DEFG", teamID: "DEF123GHIJ", environment: server.environment(),
                deviceToken: Sample.deviceToken())
            #expect(
                server.log.requests.map(\.body) == [
                    #"{"aps":{"alert":{"title":"Game Request","body":"Bob wants to play poker"},"badge":5,"#
                        + #""sound":"default"}}"#
                ])
        }
    }

    @Test func `The invitation is what the guide shows`() throws {
        let json = String(decoding: try invitation(from: "Jenna").payload.json, as: UTF8.self)
        #expect(
            json == #"{"aps":{"alert":{"loc-key":"GAME_PLAY_REQUEST_FORMAT","loc-args":["Jenna"]},"#
                + #""category":"INVITATION"},"from":"Jenna","game":"poker"}"#)
    }

    @Test func `The goal has its keys`() throws {
        let json = String(decoding: try goal(1, 0).payload.json, as: UTF8.self)
        #expect(
            json == #"{"aps":{"alert":"Goal!","future-key":{"a":1}},"away":0,"home":1,"players":["Jenna","Frank"]}"#)
    }

    @Test func `The greeting is in the users language`() throws {
        let json = String(decoding: try hello(to: ["fr-CA", "en"]).payload.json, as: UTF8.self)
        #expect(json == #"{"aps":{"alert":"Bonjour"}}"#)
    }
}
