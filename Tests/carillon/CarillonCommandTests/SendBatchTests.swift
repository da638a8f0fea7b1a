import CommonTesting
import Foundation
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// `carillon send --batch`: a line for each notification, and its exit status.
@Suite(.service(environment: ["CARILLON_LIMIT_TOKEN_RATE": "0"]), .timeLimit(.minutes(2))) struct SendBatchTests {
    private let bundleID = "com.example.app"

    private func newToken() async throws -> String {
        let service = try CarillonProcess.current
        return try await service.register(bundleID, on: try await service.activate())
    }

    private func line(_ token: String, _ more: String = "") -> String {
        #"{"token":"\#(token)","topic":"\#(bundleID)","payload":{"aps":{"alert":"Hello"}}\#(more)}"#
    }

    /// The objects that a command printed.
    private func objects(_ finished: ChildProcess.Finished) throws -> [FoundationJSON] {
        try finished.output.split(separator: "\n").map { line in
            try JSONDecoder().decode(FoundationJSON.self, from: Data(line.utf8))
        }
    }

    @Test func `A file of many is sent and each is told`() async throws {
        let token = try await newToken()
        try await withTemporaryFolder { folder in
            let lines = (0..<300).map { _ in line(token, #","expiration":0,"priority":10,"pushType":"alert""#) }
            try lines.joined(separator: "\n").write(toFile: folder + "/batch", atomically: true, encoding: .utf8)
            let sent = try await CarillonProcess.current.carillon("send", "--batch", folder + "/batch")
            #expect(sent.status == 0, "\(sent.errors)")
            let told = try objects(sent)
            #expect(told.count == 300)
            #expect(told.allSatisfy { $0["status"] == 200 && $0["token"] == .string(token) })
            #expect(Set(told.compactMap { $0["id"]?.text }).count == 300)
        }
    }

    @Test func `Standard input is taken and identifiers are kept`() async throws {
        let token = try await newToken()
        let id = "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"
        let sent = try await CarillonProcess.current.carillon(
            "send", "--batch", "-", input: Array((line(token, #","id":"\#(id)""#) + "\n").utf8))
        #expect(sent.status == 0, "\(sent.errors)")
        #expect(try objects(sent) == [["token": .string(token), "id": .string(id), "status": 200]])
    }

    @Test func `A byte order mark before a line is no part of it, in a file and on standard input`()
        async throws
    {
        let (first, second) = (try await newToken(), try await newToken())
        // Files that were joined have one before a later line too.
        let text = "\u{feff}" + [line(first), line(second)].joined(separator: "\r\n\u{feff}")
        try await withTemporaryFolder { folder in
            try text.write(toFile: folder + "/batch", atomically: true, encoding: .utf8)
            let service = try CarillonProcess.current
            let file = try await service.carillon("send", "--batch", folder + "/batch")
            let input = try await service.carillon("send", "--batch", "-", input: Array(text.utf8))
            for sent in [file, input] {
                #expect(sent.status == 0, "\(sent.errors)")
                #expect(Set(try objects(sent).compactMap { $0["token"]?.text }) == [first, second])
            }
        }
    }

    @Test func `A refusal is told with its reason and the status is one`() async throws {
        let token = try await newToken()
        let text = [line(token), line("00")].joined(separator: "\n")
        let sent = try await CarillonProcess.current.carillon("send", "--batch", "-", input: Array(text.utf8))
        #expect(sent.status == 1)
        let told = try objects(sent)
        #expect(told.count == 2)
        let refused = told.first { $0["token"] == "00" }
        #expect(refused?["status"] == 400)
        #expect(refused?["reason"] == "BadDeviceToken")
    }

    @Test func `A 410 carries the timestamp`() async throws {
        let service = try CarillonProcess.current
        let identity = try await service.activate()
        let token = try await service.register(bundleID, on: identity)
        _ = try await service.carillon("device", "unregister", "--identity", identity, "--bundle-id", bundleID)
        let sent = try await service.carillon("send", "--batch", "-", input: Array(line(token).utf8))
        #expect(sent.status == 1)
        let told = try objects(sent)
        #expect(told.first?["status"] == 410)
        #expect(told.first?["reason"] == "Unregistered")
        #expect(told.first?["timestamp"] != nil)
    }

    @Test func `What a line lacks the options say`() async throws {
        let token = try await newToken()
        let sent = try await CarillonProcess.current.carillon(
            "send", "--batch", "-", "--topic", bundleID, "--alert", "Hello", "--priority", "5",
            input: Array(#"{"token":"\#(token)"}"#.utf8))
        #expect(sent.status == 0, "\(sent.errors)")
        #expect(try objects(sent).count == 1)
    }

    @Test(arguments: [
        ("nonsense", ""), ("[]", ""), (#"{"topic":"a"}"#, ""),
        // The token is reported if it can be read.
        (#"{"topic":"a","token":"0a","payload":{"aps":"#, "0a"), (#"{"token":"0a"} and more"#, "0a"),
        // No token: it belongs to another dictionary or is incomplete.
        (#"{"payload":{"token":"0a"},"#, ""), (#"{"topic":"token","id":5"#, ""), (#"{"token":"0a"#, ""),
        (#"{"token":"\u0030a","#, ""), (#"["token","0a"]"#, ""),
    ]) func aLineThatIsNoneIsToldAndPassedOver(_ bad: String, tokenInIt: String) async throws {
        try await expectToldAndPassedOver(bad, tokenInIt: tokenInIt)
    }

    @Test func `A line that is too long is told and passed over`() async throws {
        let long = String(repeating: "x", count: 200_000)
        try await expectToldAndPassedOver(long, tokenInIt: "")
        try await expectToldAndPassedOver(
            #"{"token" : "0a","payload":{"aps":{"alert":"\#(long)"}}}"#, tokenInIt: "0a")
    }

    private func expectToldAndPassedOver(_ bad: String, tokenInIt: String) async throws {
        let token = try await newToken()
        let text = [line(token), bad, "", line(token)].joined(separator: "\n")
        let sent = try await CarillonProcess.current.carillon("send", "--batch", "-", input: Array(text.utf8))
        #expect(sent.status == 1)
        let told = try objects(sent)
        #expect(told.count { $0["status"] == 200 } == 2)
        #expect(
            told.filter { $0["status"] == nil } == [["token": .string(tokenInIt), "reason": "badNotification"]])
        #expect(sent.errors.contains("Line 2 is not a notification"))
    }

    @Test func `A file that is not there`() async throws {
        let sent = try await CarillonProcess.current.carillon("send", "--batch", "/nowhere/batch")
        #expect(sent.status != 0)
        #expect(sent.errors.contains("/nowhere/batch"))
    }

    /// The answer for each line has the reason, and standard error has the explanation only once.
    @Test func `A server that is not there is told for each`() async throws {
        let key = try CarillonProcess.current.developmentKey
        let id = "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"
        let text = [line("00", #","id":"\#(id)""#), "nonsense", line("0 1"), line("02")].joined(separator: "\n")
        let sent = try await BuiltCommand.run(
            [
                "send", "--json", "--batch", "-", "--key-file", key.path, "--key-id", key.keyID, "--team-id",
                key.teamID, "--url", "https://127.0.0.1:1",
            ], input: Array(text.utf8))
        #expect(sent.status == 1)
        #expect(
            try objects(sent) == [
                ["token": "00", "id": .string(id), "reason": "cannotConnect"],
                ["token": "", "reason": "badNotification"],
                ["token": "0 1", "reason": "badNotification"],
                ["token": "02", "reason": "cannotConnect"],
            ])
        #expect(sent.errors.components(separatedBy: "No connection").count == 2)
    }

    @Test func `For people it is told for each as well`() async throws {
        let key = try CarillonProcess.current.developmentKey
        let sent = try await BuiltCommand.run(
            [
                "send", "--batch", "-", "--key-file", key.path, "--key-id", key.keyID, "--team-id", key.teamID, "--url",
                "https://127.0.0.1:1",
            ], input: Array([line("00"), line("01")].joined(separator: "\n").utf8))
        #expect(sent.status == 1)
        let lines = sent.output.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.contains("  failed: No connection to 127.0.0.1, port 1") })
        #expect(sent.errors.hasSuffix("0 accepted, 2 failed.\n"))
    }

    @Test func `An empty batch fails without the server as well`() async throws {
        let key = try CarillonProcess.current.developmentKey
        let sent = try await BuiltCommand.run(
            [
                "send", "--batch", "-", "--key-file", key.path, "--key-id", key.keyID, "--team-id", key.teamID, "--url",
                "https://127.0.0.1:1",
            ], input: [])
        #expect(sent.status == 1)
    }
}
