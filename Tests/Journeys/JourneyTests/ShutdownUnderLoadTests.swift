import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// After SIGTERM the service answers what it has accepted, sends GOAWAY to all clients, and ends with status 0.
@Suite(.timeLimit(.minutes(3))) struct ShutdownUnderLoadTests {
    /// The outcomes of one connection's requests.
    private struct Tally: Sendable {
        var answered = 0
        var unanswered: [UInt32] = []
        var others = 0
    }

    /// Keeps this number of requests open until the connection accepts no more.
    private func load(_ connection: WireClient, _ push: WirePush, streams: Int) async throws -> Tally {
        try await withThrowingTaskGroup(of: Tally.self) { group in
            for _ in 0..<streams {
                group.addTask {
                    var tally = Tally()
                    while try await connection.isOpen() {
                        do {
                            let answer = try await connection.send(push)
                            if answer.status == 200 { tally.answered += 1 } else { tally.others += 1 }
                        } catch let error as WireClient.Unanswered {
                            tally.unanswered.append(error.stream)
                        } catch {
                            // The request was not sent, because the connection is ending.
                            break
                        }
                    }
                    return tally
                }
            }
            return try await group.reduce(into: Tally()) { sum, part in
                sum.answered += part.answered
                sum.unanswered += part.unanswered
                sum.others += part.others
            }
        }
    }

    /// A shutdown without connections ends at once, even if the limit for open requests is long.
    @Test func `With nothing connected it waits for nothing`() async throws {
        try await CarillonProcess.with(environment: ["CARILLON_LIMIT_SHUTDOWN_TIMEOUT": "3600"]) { service in
            let token = try await service.register("com.example.app", on: try await service.activate())
            #expect(try await service.send(alert: "x", to: token).status == 200)
            let finished = await service.stop()
            #expect(finished.status == 0)
        }
    }

    @Test func `Under load every request is answered or its connection was told why`() async throws {
        try await CarillonProcess.with(environment: ["CARILLON_LIMIT_TOKEN_RATE": "0"]) { service in
            let token = try await service.register("com.example.app", on: try await service.activate())
            let push = try WirePush(token: token, topic: "com.example.app", from: service.developmentProvider)
            var connections: [WireClient] = []
            for _ in 0..<4 { connections.append(try await service.connect()) }
            // All connections are in use when the signal arrives.
            for connection in connections { #expect(try await connection.send(push).status == 200) }
            try await withThrowingTaskGroup(of: (WireClient, Tally).self) { group in
                for connection in connections {
                    group.addTask { (connection, try await load(connection, push, streams: 20)) }
                }
                for connection in connections { _ = try await connection.send(push) }
                service.child.signal(SIGTERM)
                for try await (connection, tally) in group {
                    let goAways = try await connection.goAwayFrames()
                    #expect(tally.others == 0)
                    #expect(tally.answered > 0)
                    #expect(goAways.allSatisfy { $0.debugData == #"{"reason":"Shutdown"}"# })
                    let last = try #require(goAways.last).lastStream
                    // GOAWAY says that the unanswered requests were not processed.
                    #expect(tally.unanswered.allSatisfy { $0 > last }, "\(tally.unanswered) \(last)")
                }
            }
            let finished = await service.child.finished()
            #expect(finished.status == 0, "\(finished.errors)")
        }
    }

    @Test func `An idle connection gets GOAWAY with the reason`() async throws {
        try await CarillonProcess.with { service in
            let token = try await service.register("com.example.app", on: try await service.activate())
            let connection = try await service.connect()
            _ = try await connection.send(
                try WirePush(token: token, topic: "com.example.app", from: service.developmentProvider))
            let finished = await service.stop()
            #expect(finished.status == 0)
            let goAways = try await connection.goAways()
            #expect(!goAways.isEmpty)
            #expect(goAways.allSatisfy { $0 == #"{"reason":"Shutdown"}"# })
        }
    }

    @Test func `A listening device's stream ends with a last line`() async throws {
        try await CarillonProcess.with { service in
            let identity = try await service.activate()
            try await service.listen(as: identity) { device in
                #expect(await service.stop().status == 0)
                let last = try await device.nextNotification()
                #expect(last["end"] != nil)
                #expect(await device.finished().status == 0)
            }
        }
    }

    @Test func `What was accepted under load is there afterwards`() async throws {
        try await withTemporaryFolder { folder in
            let data = folder + "/data"
            let environment = ["CARILLON_LIMIT_TOKEN_RATE": "0"]
            let identity = try await CarillonProcess.with(data: data, environment: environment) { service in
                let identity = try await service.activate()
                let token = try await service.register("com.example.app", on: identity)
                let push = try WirePush(token: token, topic: "com.example.app", from: service.developmentProvider)
                let connection = try await service.connect()
                async let tally = load(connection, push, streams: 20)
                let answer = try await connection.send(push)
                #expect(answer.status == 200)
                #expect(await service.stop().status == 0)
                _ = try await tally
                return identity
            }
            try await CarillonProcess.with(data: data) { service in
                let line = try await service.firstNotification(for: identity)
                #expect(line["payload"] == ["aps": ["alert": "Hello"]])
            }
        }
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `Without any connection it ends well`(signal: Int32) async throws {
        try await CarillonProcess.with { service in
            let finished = await service.stop(signal)
            #expect(finished.status == 0)
            let lines = try finished.objects
            #expect(lines.count == 1)
            #expect(!FileManager.default.fileExists(atPath: service.data + "/admin.sock"))
        }
    }

    @Test func `Commands say that no service runs afterwards`() async throws {
        try await CarillonProcess.with { service in
            _ = await service.stop()
            let made = try await service.carillon("team", "create", "--name", "Team")
            #expect(made.status != 0)
            #expect(made.output.isEmpty)
            #expect(made.errors.contains("carillon serve"))
        }
    }

    @Test func `Commands say that no service runs after kill 9`() async throws {
        try await CarillonProcess.with { service in
            _ = await service.stop(SIGKILL)
            let made = try await service.carillon("team", "create", "--name", "Team")
            #expect(made.status != 0)
            #expect(made.output.isEmpty)
            #expect(made.errors.contains("carillon serve"))
        }
    }
}
