import CommonTesting
import Foundation
import HTTPAPI
import HTTPAPIClient
import HTTPTypes
import NIOHTTP1
import Notifications
import Testing

@testable import DeviceAgent
@testable import ServiceTesting

/// The apps in `Examples/device-agent`.
@Suite(.service(), .startsPrograms, .timeLimit(.minutes(2))) struct ExampleAppsTests {
    @Test(arguments: [["python3", "app.py"], ["sh", "app.sh"], ["node", "app.mjs"]])
    func `An example gets its token and an alert, and handles it`(_ command: [String]) async throws {
        let needed = command[0] == "sh" ? ["curl", "jq"] : [command[0]]
        guard needed.allSatisfy({ ChildProcess.isInstalled($0) }) else { return }
        try await withAgentFolder { folder in
            try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
            try await AgentProcess.with(folder) { agent in
                let file = Repository.file("Examples/device-agent/\(command[1])").path
                try await ChildProcess.with(
                    command[0], [file, "com.example.app"], environment: ["CARILLON_AGENT_SOCKET": agent.socket]
                ) { app in
                    let line = try await app.output.nextLine().orThrow(app.errors.text)
                    let token = String(try required(line.split(separator: " ").last))
                    let answer = try await CarillonProcess.current.send(alert: "Hello", to: token)
                    #expect(answer.status == 200)
                    #expect(try await app.output.nextLine().orThrow(app.errors.text) == "shown  Hello")
                    await agent.child.errors.wait(for: "An app has handled events")
                    #expect(try await agent.pending() == 0)
                    // The shell ends its curl. It must not be killed before that, because curl has the output's pipe.
                    app.signal(SIGTERM)
                    _ = await app.finished()
                }
            }
        }
    }

    @Test(arguments: [["python3", "app.py"], ["sh", "app.sh"], ["node", "app.mjs"]])
    func `An example that is refused says why, and ends`(_ command: [String]) async throws {
        let needed = command[0] == "sh" ? ["curl", "jq"] : [command[0]]
        guard needed.allSatisfy({ ChildProcess.isInstalled($0) }) else { return }
        let file = Repository.file("Examples/device-agent/\(command[1])").path
        try await withAgentFolder { folder in
            func run(_ socket: String) async throws -> ChildProcess.Finished {
                try await ChildProcess.run(
                    command[0], [file, "com.example.other"], environment: ["CARILLON_AGENT_SOCKET": socket])
            }
            try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
            try await AgentProcess.with(folder) { agent in
                let refused = try await run(agent.socket)
                #expect(refused.status == 1 && refused.output == "", "\(refused.output) \(refused.errors)")
                #expect(refused.errors.contains("No manifest in"), "\(refused.errors)")
                for word in ["Traceback", "    at ", "null"] {
                    #expect(!refused.errors.contains(word), "\(refused.errors)")
                }
            }
            let missing = try await run(folder + "/s")
            #expect(missing.status == 1 && missing.output == "", "\(missing.errors)")
            for word in ["Traceback", "    at "] { #expect(!missing.errors.contains(word), "\(missing.errors)") }
        }
    }

    @Test func `The command of the example is run`() async throws {
        try await withAgentFolder { folder in
            let file = Repository.file("Examples/device-agent/command.sh").path
            try AgentProcess.write(#"{"bundleID":"com.example.app","exec":["\#(file)"]}"#, in: folder)
            try await AgentProcess.with(folder) { agent in
                let registered = try await agent.client.ask(.PUT, "/v1/apps/com.example.app", nil)
                let token = try required(registered["token"]?.string)
                let answer = try await CarillonProcess.current.send(alert: "Hello", to: token)
                #expect(answer.status == 200)
                await agent.child.errors.wait(for: #"shown com.example.app: {"aps":{"alert":"Hello"}}"#)
                await agent.child.errors.wait(for: "An app has handled events")
                #expect(try await agent.pending() == 0)
            }
        }
    }

    @Test func `docs/device-agent.md has a row for each operation, and no other`() throws {
        let document = try Repository.text("docs/device-agent.md")
        let rows = document.matches(of: /(?m)^\| `((?:GET|PUT|POST|DELETE) \/[^`]*)` \|/).map { String($0.1) }
        let operations = AgentOperations.all.map { "\($0.method.rawValue) \($0.path)" }
        #expect(Set(rows) == Set(operations) && rows.count == operations.count)
    }
}
