import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// `carillon log`, and what the service writes for it.
@Suite(.timeLimit(.minutes(3))) struct DeliveryLogCommandTests {
    private static let bundleID = "com.example.app"

    private func device(_ service: CarillonProcess) async throws -> (identity: String, token: String) {
        let identity = try await service.activate()
        return (identity, try await service.register(Self.bundleID, on: identity))
    }

    /// Returns the lines of the log when there are this many. The service writes them shortly after the answer.
    private func lines(_ data: String, _ arguments: [String], count: Int) async throws -> [FoundationJSON] {
        try await firstValue {
            let finished = try await BuiltCommand.run(["log", "--data", data, "--json"] + arguments)
            #expect(finished.status == 0, "\(finished.errors)")
            let lines = try finished.objects
            return lines.count >= count ? lines : nil
        }
    }

    @Test func `Shows the life of a notification as the contract has it`() async throws {
        try await CarillonProcess.with { service in
            let device = try await device(service)
            let answer = try await service.send(alert: "Hello", to: device.token)
            let id = try #require(answer["apns-id"])
            try await service.listen(as: device.identity) { stream in
                let line = try await stream.nextNotification()
                #expect(try await service.acknowledge(line, as: device.identity).status == 204)
            }
            let lines = try await lines(service.data, ["--id", id], count: 4)
            #expect(lines.map { $0["event"] } == ["accepted", "stored", "sent", "acknowledged"])
            for line in lines {
                #expect(line["id"]?.text == id)
                #expect(line["token"]?.text == device.token)
                #expect(line["topic"]?.text == Self.bundleID)
                #expect(try #require(line["time"]?.number) > 1_600_000_000_000)
            }
        }
    }

    @Test func `Names what took their place and why they were rejected`() async throws {
        try await CarillonProcess.with { service in
            let device = try await device(service)
            var ids: [String] = []
            for (alert, collapseID) in [("One", "a"), ("Two", "b"), ("Three", "b")] {
                let answer = try await service.send(
                    alert: alert, to: device.token, headers: [("apns-collapse-id", collapseID)])
                ids.append(try #require(answer["apns-id"]))
            }
            let rejected = try await service.send(alert: "No", to: device.token, topic: "com.example.other")
            let lines = try await lines(service.data, ["--token", device.token.uppercased()], count: 9)
            let replaced = lines.filter { $0["event"] == "replaced" }
            #expect(replaced.map { $0["id"]?.text } == [ids[0]])
            #expect(replaced.map { $0["by"]?.text } == [ids[1]])
            let coalesced = lines.filter { $0["event"] == "coalesced" }
            #expect(coalesced.map { $0["id"]?.text } == [ids[1]])
            #expect(coalesced.map { $0["into"]?.text } == [ids[2]])
            let refusals = lines.filter { $0["event"] == "rejected" }
            #expect(refusals.map { $0["reason"] } == ["TopicDisallowed"])
            #expect(refusals.map { $0["id"]?.text } == [rejected["apns-id"]])
        }
    }

    @Test func `Can be read when no service runs and after kill 9`() async throws {
        try await withTemporaryFolder { folder in
            let data = folder + "/data"
            let id = try await CarillonProcess.with(data: data) { service in
                let answer = try await service.send(alert: "Hello", to: try await device(service).token)
                let id = try #require(answer["apns-id"])
                _ = try await lines(data, ["--id", id], count: 2)
                _ = await service.stop(SIGKILL)
                return id
            }
            #expect(try await lines(data, ["--id", id], count: 2).map { $0["event"] } == ["accepted", "stored"])
            // The log continues after a restart.
            try await CarillonProcess.with(data: data) { service in
                _ = try await service.send(alert: "Next", to: try await device(service).token)
                #expect(try await lines(data, [], count: 4).first?["id"]?.text == id)
            }
        }
    }

    @Test func `Accepted and stored are there after a clean shutdown`() async throws {
        try await withTemporaryFolder { folder in
            let data = folder + "/data"
            try await CarillonProcess.with(data: data) { service in
                _ = try await service.send(alert: "Hello", to: try await device(service).token)
                #expect(await service.stop().status == 0)
            }
            let finished = try await BuiltCommand.run(["log", "--data", data, "--json"])
            #expect(try finished.objects.map { $0["event"] } == ["accepted", "stored"])
        }
    }

    @Test func `Follows what happens`() async throws {
        try await CarillonProcess.with { service in
            let device = try await device(service)
            let arguments = service.arguments("log", "--follow", "--token", device.token)
            try await ChildProcess.with(BuiltCommand.path, arguments) { log in
                for alert in ["One", "Two"] {
                    let answer = try await service.send(alert: alert, to: device.token)
                    while let line = await log.output.nextLine() {
                        let object = try FoundationJSON(line)
                        if object["event"] == "stored", object["id"]?.text == answer["apns-id"] { break }
                    }
                }
            }
        }
    }

    /// Device tokens that a new key has sealed are shown, although the key was made after the command started.
    @Test func `Follows device tokens of a key that joins meanwhile`() async throws {
        try await CarillonProcess.with { service in
            let older = try await device(service)
            try await ChildProcess.with(BuiltCommand.path, service.arguments("log", "--follow")) { log in
                /// The device token of the next notification that is accepted.
                func nextToken() async throws -> String? {
                    while let line = await log.output.nextLine() {
                        let object = try FoundationJSON(line)
                        if object["event"] == "accepted" { return object["token"]?.text }
                    }
                    return nil
                }
                _ = try await service.send(alert: "One", to: older.token)
                #expect(try await nextToken() == older.token)
                _ = try await service.carillon("token-key", "rotate")
                let newer = try await device(service)
                _ = try await service.send(alert: "Two", to: newer.token)
                #expect(try await nextToken() == newer.token)
            }
        }
    }

    @Test(arguments: [["--id", "43ffc19a"], ["--token", "xyz"], ["--token", ""]])
    func `Refuses what is none in one line`(arguments: [String]) async throws {
        let finished = try await BuiltCommand.run(["log", "--json"] + arguments)
        #expect(finished.status != 0)
        #expect(finished.output.isEmpty)
        #expect(finished.errors.split(separator: "\n").count == 1)
    }

    @Test func `Says that there is no data folder`() async throws {
        let finished = try await BuiltCommand.run(["log", "--json", "--data", "/nonexistent/carillon"])
        #expect(finished.status == 1)
        #expect(finished.errors.contains("--data"))
    }
}
