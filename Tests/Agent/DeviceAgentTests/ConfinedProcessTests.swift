#if os(Linux)
    import CommonTesting
    import Foundation
    import HTTPAPIClient
    import Notifications
    import Service
    import Testing

    @testable import DeviceAgent
    @testable import ServiceTesting

    /// What the command of an app may ask the agent for.
    @Suite(.service(), .startsPrograms, .timeLimit(.minutes(3))) struct ConfinedProcessTests {
        private let own = "/v1/apps/com.example.app"
        private let other = "/v1/apps/com.example.other"

        /// Asks at the sockets, and writes a line with the status of each answer, as the command and as processes it starts.
        private static let client = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Programs/socket_client.py")

        private func run(
            _ more: [String], _ body: (_ results: [String: String], AgentProcess) async throws -> Void
        ) async throws {
            let service = try CarillonProcess.current
            do {
                try await service.createApp("com.example.other", of: try service.developmentKey.teamID)
            } catch let error as UnexpectedOutput
                where error.description.contains("There is an app com.example.other already.")
            {
                // Another test of this suite has made it.
            }
            try await withAgentFolder { folder in
                let data = folder + "/data"
                try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
                let program = folder + "/client.py"
                try AgentRig.write(try String(contentsOf: Self.client, encoding: .utf8), to: program)
                let arguments = [data, folder + "/s", own, other].map { #","\#($0)""# }.joined()
                try AgentProcess.write(
                    #"{"bundleID":"com.example.app","exec":["/usr/bin/python3","\#(program)"\#(arguments)]}"#,
                    in: folder)
                try AgentProcess.write(#"{"bundleID":"com.example.other"}"#, in: folder, as: "other")
                try await AgentProcess.with(folder, more) { agent in
                    // A process outside is both.
                    _ = try await agent.client.ask(.PUT, other, nil)
                    let token = try required(try await agent.client.ask(.PUT, own, nil)["token"]?.string)
                    #expect(try await service.send(alert: "Hello", to: token).status == 200)
                    var results: [String: String] = [:]
                    for name in ["command", "child", "orphan", "daemon", "left"] {
                        try await wait(while: !FileManager.default.fileExists(atPath: "\(data)/\(name)"))
                        for line in try String(contentsOfFile: "\(data)/\(name)", encoding: .utf8).split(
                            separator: "\n")
                        {
                            let words = line.split(separator: " ").map(String.init)
                            results[words.dropLast().joined(separator: " "), default: ""] = words.last ?? ""
                        }
                    }
                    try await body(results, agent)
                }
            }
        }

        @Test(
            .enabled(if: Confinement.isPossible && ChildProcess.isInstalled("python3"), "it needs Landlock and python3")
        )
        func `With --confine-commands the tree of a command is its own app at every socket, and no other`() async throws
        {
            try await run(["--confine-commands"]) { results, agent in
                for name in ["command", "child", "orphan"] {
                    for socket in ["all", "app"] {
                        #expect(results["\(name) \(socket) PUT \(own)"] == "200", "\(results)")
                    }
                }
                // Nobody knows any more whose these are.
                for name in ["daemon", "left"] {
                    for socket in ["all", "app"] {
                        #expect(results["\(name) \(socket) PUT \(own)"] == "403", "\(results)")
                    }
                }
                for (question, answer) in results where !question.hasSuffix("PUT \(own)") {
                    #expect(answer == "403", "\(question)")
                }
                // The agent collects what commands leave behind.
                try await wait(while: try zombies(of: agent.child.processID) > 0)
                // A process outside has its rights.
                _ = try await agent.client.ask(.PUT, other, nil)
                _ = try await agent.client.ask(.GET, "/v1/settings")
            }
        }

        @Test(.enabled(if: ChildProcess.isInstalled("python3"), "it needs python3"))
        func `At the socket in its environment a command is its own app and no other`() async throws {
            try await run([]) { results, _ in
                for (question, answer) in results where question.contains(" app ") {
                    #expect(answer == (question.hasSuffix("PUT \(own)") ? "200" : "403"), "\(question)")
                }
                #expect(results["command all PUT \(other)"] == "200")
            }
        }

        private func zombies(of process: Int32) throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }
                .compactMap { ProcessStatus(of: $0) }.count { $0.parent == process && $0.isEnded }
        }
    }
#endif
