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

        /// A command that leaves a process behind, which asks for another app until its folder is gone. It notes the number of the agent
        /// that has answered, and the status.
        private static let leftover = """
            import os, socket, struct, sys, time
            folder, path = sys.argv[1:3]
            try: os.close(os.open(f"{folder}/started", os.O_CREAT | os.O_EXCL))
            except FileExistsError: sys.exit(0)
            if os.fork(): os._exit(0)
            os.setsid()
            if os.fork(): os._exit(0)
            while os.path.exists(folder):
                try:
                    connection = socket.socket(socket.AF_UNIX)
                    connection.connect(path)
                    agent = struct.unpack("iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
                    connection.sendall(b"PUT OTHER HTTP/1.1\\r\\nhost: agent\\r\\ncontent-length: 0\\r\\nconnection: close\\r\\n\\r\\n")
                    answer = connection.recv(4096).split()
                    with open(f"{folder}/new", "w") as file: file.write(f"{agent} {answer[1].decode()}")
                    os.rename(f"{folder}/new", f"{folder}/answer")
                except (OSError, IndexError): pass
                time.sleep(0.05)
            """

        @Test(
            .enabled(
                if: Confinement.isPossible && ChildProcess.isInstalled("python3"), "it needs Landlock and python3"),
            .enabled(if: !isConfined, "everything has no_new_privs here")
        )
        func `What a command has left behind gets no rights when the agent was killed and starts again`() async throws {
            let service = try CarillonProcess.current
            // Another test may have made it.
            _ = try? await service.createApp("com.example.other", of: try service.developmentKey.teamID)
            try await withAgentFolder { folder in
                let data = folder + "/data"
                try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
                // The process that is left ends.
                defer { try? FileManager.default.removeItem(atPath: data) }
                try AgentRig.write(Self.leftover.replacing("OTHER", with: other), to: folder + "/left.py")
                try AgentProcess.write(
                    #"{"bundleID":"com.example.app","exec":["/usr/bin/python3","\#(folder)/left.py","\#(data)","\#(folder)/s"]}"#,
                    in: folder)
                try AgentProcess.write(#"{"bundleID":"com.example.other"}"#, in: folder, as: "other")
                func status(by agent: AgentProcess) async throws -> String {
                    try await firstValue {
                        let words = (try? String(contentsOfFile: data + "/answer", encoding: .utf8))?.split(
                            separator: " ")
                        return words?.first == "\(agent.child.processID)" ? words?.last.map { String($0) } : nil
                    }
                }
                try await AgentProcess.with(folder, ["--confine-commands"]) { agent in
                    let token = try required(try await agent.client.ask(.PUT, own, nil)["token"]?.string)
                    #expect(try await service.send(alert: "Hello", to: token).status == 200)
                    // While the command runs, it is refused for another reason.
                    try await wait(while: try await status(by: agent) != "403")
                    await agent.kill()
                }
                try await AgentProcess.with(folder, ["--confine-commands"]) { agent in
                    #expect(try await status(by: agent) == "403")
                    // A program outside has its rights.
                    _ = try await agent.client.ask(.PUT, other, nil)
                }
            }
        }

        private static var isConfined: Bool {
            let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            return status.flatMap { Leftovers.confinedUser($0) } != nil
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
