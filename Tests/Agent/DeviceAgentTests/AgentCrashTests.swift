import CommonTesting
import Foundation
import HTTPAPIClient
import NIOHTTP1
import Notifications
import Testing

@testable import DeviceAgent
@testable import ServiceTesting

/// Kills the agent while notifications come. `script/crash --agent --times N` does it more often.
@Suite(.service(), .startsPrograms, .timeLimit(.minutes(30))) struct AgentCrashTests {
    private let bundleID = "com.example.app"
    private let rounds = ProcessInfo.processInfo.environment["CARILLON_CRASHES"].flatMap { Int($0) } ?? 8

    private func send(_ alert: String, to token: String) async throws {
        let answer = try await CarillonProcess.current.send(alert: alert, to: token)
        #expect(answer.status == 200)
    }

    private func token(_ agent: AgentProcess) async throws -> String {
        try required(try await agent.client.ask(.PUT, "/v1/apps/\(bundleID)", nil)["token"]?.string)
    }

    /// Every notification that was accepted reaches the app, and none comes again once it was handled.
    @Test func `Kills while notifications come lose nothing, and repeat nothing that was handled`() async throws {
        try await withAgentFolder { folder in
            try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
            var (handled, deviceToken): (Set<String>, String?) = ([], nil)

            /// Reads and handles events up to this one. Leaves the last one in the queue if it is to be kept.
            func read(_ stream: EventReader, _ agent: AgentProcess, upTo text: String, keepsLast: Bool) async throws {
                while true {
                    let event = try await stream.next()[0]
                    let body = try required(event["content"]?["body"]?.string)
                    #expect(!handled.contains(body), "\(body) came again")
                    if body == text, keepsLast { return }
                    _ = try await agent.client.ask(
                        .POST, "/v1/apps/\(bundleID)/handled",
                        ["deliveries": .array([try required(event["delivery"])])])
                    handled.insert(body)
                    if body == text { return }
                }
            }

            for round in 0..<rounds {
                try await AgentProcess.with(folder) { agent in
                    if deviceToken == nil { deviceToken = try await token(agent) }
                    let stream = EventReader(agent.client, "/v1/apps/\(bundleID)/events")
                    if round > 0 {
                        try await read(stream, agent, upTo: "\(round - 1)-under-way", keepsLast: false)
                    }
                    for number in 0..<5 {
                        let text = "\(round)-\(number)"
                        try await send(text, to: try required(deviceToken))
                        // Of a device that does not answer, the service keeps the newest notification only. So the next
                        // one is sent when this one is on the disk.
                        try await read(stream, agent, upTo: text, keepsLast: number == 4 && !round.isMultiple(of: 2))
                    }
                    // Meanwhile one more is under way.
                    let token = try required(deviceToken)
                    async let last: Void = send("\(round)-under-way", to: token)
                    await agent.kill()
                    try await last
                }
            }
            try await AgentProcess.with(folder) { agent in
                let stream = EventReader(agent.client, "/v1/apps/\(bundleID)/events")
                try await read(stream, agent, upTo: "\(rounds - 1)-under-way", keepsLast: false)
            }
            let all = (0..<rounds).flatMap { round in
                (0..<5).map { "\(round)-\($0)" } + ["\(round)-under-way"]
            }
            #expect(handled == Set(all))
        }
    }
}
