import CommonTesting
import Crypto
import Foundation
import HTTP2
import ProviderTesting
import Testing

@testable import ServiceTesting

/// What `carillon send` prints if the server gives no answer or is not a push service, and provider tokens that several
/// commands share. Uses a scripted server over real TLS.
@Suite(.timeLimit(.minutes(2))) struct SendAnswerTests {
    /// What a command needs to send to a server.
    private struct Sender {
        let folder: String
        let server: ScriptedServer

        init(_ folder: String, _ server: ScriptedServer) throws {
            self.folder = folder
            self.server = server
            try P256.Signing.PrivateKey().pemRepresentation.write(
                toFile: folder + "/key.p8", atomically: true, encoding: .utf8)
            try TestAuthority.rootPEM().write(toFile: folder + "/ca.pem", atomically: true, encoding: .utf8)
        }

        func send(_ arguments: [String], input: String = "") async throws -> ChildProcess.Finished {
            try await BuiltCommand.run(
                [
                    "send", "--json", "--topic", "com.example.app", "--alert", "Hello", "--key-file",
                    folder + "/key.p8",
                    "--key-id", "ABC123DEFG", "--team-id", "DEF123GHIJ", "--url", "https://127.0.0.1:\(server.port)",
                    "--ca", folder + "/ca.pem",
                ] + arguments, input: Array(input.utf8))
        }
    }

    private func withSender(
        _ script: @escaping ScriptedServer.Script,
        _ body: (Sender) async throws -> Void,
    ) async throws {
        try await withTemporaryFolder { folder in
            try await ScriptedServer.run(script: script) { server in try await body(try Sender(folder, server)) }
        }
    }

    // MARK: Lines of a batch

    @Test func `Without an answer there is a reason and no status`() async throws {
        try await withSender({ request, connection in
            request.number == 0
                ? connection.answer(request.stream) : connection.reset(request.stream, .internalError)
        }) { sender in
            let sent = try await sender.send(
                ["--batch", "-"], input: #"{"token":"00"}"# + "\n" + #"{"token":"01","id":"mine"}"#)
            #expect(sent.status == 1)
            let lines = try sent.objects
            #expect(lines.count == 2)
            #expect(lines.contains(["token": "01", "id": "mine", "reason": "gaveUp"]))
            #expect(sent.errors.contains("01: The service reset the request: INTERNAL_ERROR."))
        }
    }

    @Test func `Every line has the keys of the contract and no others`() async throws {
        try await withSender({ request, connection in
            switch request.path.suffix(2) {
            case "02":
                connection.answer(request.stream, status: 410, reason: "Unregistered", timestamp: 1_700_000_000_000)
            case "03": connection.answer(request.stream, status: 200, id: nil, body: "<html>Welcome</html>")
            case "04": connection.answer(request.stream, status: 410, reason: "ExpiredToken", timestamp: .max)
            default: connection.answer(request.stream)
            }
        }) { sender in
            let input = """
                {"token":"01"}
                {"token":"02"}
                {"token":"03"}
                {"token":"04"}
                {"token":"05","topic":"a\\nb"}
                {"id":"mine"}
                nonsense
                """
            let sent = try await sender.send(["--batch", "-"], input: input)
            #expect(sent.status == 1)
            let lines = try sent.objects
            #expect(lines.count == 7)
            let allowed: Set = ["token", "id", "status", "reason", "timestamp"]
            #expect(lines.allSatisfy { $0.keys.isSubset(of: allowed) && $0["token"]?.text != nil })
            let id: FoundationJSON = "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"
            #expect(lines.contains(["token": "01", "id": id, "status": 200]))
            #expect(
                lines.contains([
                    "token": "02", "id": id, "status": 410, "reason": "Unregistered", "timestamp": 1_700_000_000_000,
                ]))
            #expect(lines.contains(["token": "03", "reason": "unexpectedAnswer"]))
            #expect(lines.contains { $0["token"] == "04" && $0["status"] == 410 })
            #expect(lines.contains(["token": "05", "reason": "badNotification"]))
            #expect(lines.contains(["token": "", "id": "mine", "reason": "badNotification"]))
            #expect(lines.contains(["token": "", "reason": "badNotification"]))
        }
    }

    @Test func `For people a line is an outcome in words`() async throws {
        try await withSender({ $1.answer($0.stream) }) { sender in
            let sent = try await BuiltCommand.run(
                [
                    "send", "--batch", "-", "--topic", "com.example.app", "--alert", "Hello", "--key-file",
                    sender.folder + "/key.p8", "--key-id", "ABC123DEFG", "--team-id", "DEF123GHIJ", "--url",
                    "https://127.0.0.1:\(sender.server.port)", "--ca", sender.folder + "/ca.pem",
                ], input: Array(#"{"token":"01"}"#.utf8))
            #expect(sent.status == 0)
            #expect(sent.output == "01  accepted: 8b1e5b4a-9c0c-4d5e-8f00-0123456789ab\n")
            #expect(sent.errors == "1 accepted, 0 failed.\n")
        }
    }

    // MARK: One notification

    @Test func `One without an answer prints nothing and fails`() async throws {
        try await withSender({ $1.reset($0.stream, .internalError) }) { sender in
            let sent = try await sender.send(["--token", "01"])
            #expect(sent.status == 1)
            #expect(sent.output.isEmpty)
            #expect(sent.errors.contains("INTERNAL_ERROR"))
        }
    }

    @Test func `Every option becomes its header`() async throws {
        try await withSender({ $1.answer($0.stream) }) { sender in
            let sent = try await sender.send([
                "--token", "01", "--id", "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab", "--expiration", "5", "--priority", "5",
                "--collapse-id", "score", "--push-type", "voip",
            ])
            #expect(sent.status == 0)
            #expect(try sent.object == ["status": 200, "apnsID": "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"])
            let request = try #require(sender.server.log.requests.first)
            var headers = request.headers
            #expect(headers.removeValue(forKey: "authorization")?.hasPrefix("bearer ") == true)
            #expect(
                headers == [
                    ":method": "POST", ":scheme": "https", ":path": "/3/device/01",
                    ":authority": "127.0.0.1:\(sender.server.port)", "apns-topic": "com.example.app",
                    "apns-id": "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab", "apns-expiration": "5", "apns-priority": "5",
                    "apns-collapse-id": "score", "apns-push-type": "voip",
                ])
            #expect(request.body == #"{"aps":{"alert":"Hello"}}"#)
        }
    }

    // MARK: Provider tokens

    @Test func `Commands that share a store send one token`() async throws {
        try await withSender({ $1.answer($0.stream) }) { sender in
            let store = ["--token", "01", "--token-store", sender.folder + "/tokens"]
            async let first = sender.send(store)
            async let second = sender.send(store)
            let statuses = try await [first.status, second.status]
            #expect(statuses == [0, 0])
            _ = try await sender.send(
                ["--batch", "-", "--token-store", sender.folder + "/tokens"], input: #"{"token":"02"}"#)
            #expect(sender.server.log.requests.count == 3)
            #expect(Set(sender.server.log.requests.map(\.token)).count == 1)
            // Without the store, each command makes its own token.
            _ = try await sender.send(["--token", "01"])
            #expect(Set(sender.server.log.requests.map(\.token)).count == 2)
        }
    }

    @Test func `A shared token is renewed after forty minutes`() async throws {
        try await withSender({ $1.answer($0.stream) }) { sender in
            let folder = sender.folder + "/tokens"
            let now = Int(Date().timeIntervalSince1970)
            var tokens: [String] = []
            for age in [nil, 39, 41] {
                if let age { try Self.backdate(folder, to: now - age * 60) }
                let sent = try await sender.send(["--token", "01", "--token-store", folder])
                #expect(sent.status == 0, "\(sent.errors)")
                tokens.append(try #require(sender.server.log.requests.last?.token))
            }
            #expect(tokens[1] == tokens[0])
            #expect(tokens[2] != tokens[0])
        }
    }

    /// Makes the stored token older, because the processes cannot be given another clock.
    private static func backdate(_ folder: String, to time: Int) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".json") }
        let path = folder + "/" + (try #require(names.first))
        var object = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path))) as? [String: Any])
        object["issuedAt"] = time
        try JSONSerialization.data(withJSONObject: object).write(to: URL(fileURLWithPath: path))
    }

    @Test func `The binary API takes a certificate`() async throws {
        let sent = try await BuiltCommand.run(["send", "--binary", "--token", "00", "--topic", "a", "--alert", "b"])
        #expect(sent.status == 64)
        #expect(sent.errors.contains("--certificate"))
    }

    @Test func `A certificate has no tokens to store`() async throws {
        let sent = try await BuiltCommand.run([
            "send", "--token", "00", "--topic", "a", "--alert", "b", "--certificate", "c", "--token-store", "d",
        ])
        #expect(sent.status == 64)
        #expect(sent.errors.contains("--token-store"))
    }
}
