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

        /// Asks at a socket, and writes a line with the status of each answer. It is the child of whoever has started it.
        private static let client = """
            import os, socket, sys, time
            def ask(path, method, where):
                try:
                    connection = socket.socket(socket.AF_UNIX)
                    connection.connect(path)
                    connection.sendall(f"{method} {where} HTTP/1.1\\r\\nhost: agent\\r\\ncontent-length: 0\\r\\nconnection: close\\r\\n\\r\\n".encode())
                    answer = b""
                    while b"\\r\\n" not in answer:
                        part = connection.recv(4096)
                        if not part: return "closed"
                        answer += part
                    return answer.split()[1].decode()
                except OSError as error:
                    return error.__class__.__name__
            def report(name, sockets):
                lines = []
                for kind, path in sockets:
                    for method, where in [("PUT", "OWN"), ("PUT", "OTHER"), ("GET", "OTHER/events"), ("GET", "/v1/settings")]:
                        lines.append(f"{name} {kind} {method} {where} {ask(path, method, where)}")
                folder = sys.argv[1]
                with open(f"{folder}/{name}.new", "w") as file: file.write("\\n".join(lines))
                os.rename(f"{folder}/{name}.new", f"{folder}/{name}")
            sockets = [("all", sys.argv[2]), ("app", os.environ.get("CARILLON_AGENT_SOCKET", "none"))]
            def wait_for_orphan(parent):
                while os.getppid() == parent: time.sleep(0.01)
            report("command", sockets)
            child = os.fork()
            if child == 0:
                report("child", sockets)
                os._exit(0)
            os.waitpid(child, 0)
            # An orphan in the command's session.
            child = os.fork()
            if child == 0:
                middle = os.getpid()
                if os.fork(): os._exit(0)
                wait_for_orphan(middle)
                report("orphan", sockets)
                os._exit(0)
            os.waitpid(child, 0)
            # One with a session of its own.
            child = os.fork()
            if child == 0:
                os.setsid()
                middle = os.getpid()
                if os.fork(): os._exit(0)
                wait_for_orphan(middle)
                os.setsid()
                report("daemon", sockets)
                os._exit(0)
            os.waitpid(child, 0)
            # One that goes on when the command has ended.
            root = os.getpid()
            if os.fork() == 0:
                # Until the agent has collected the command.
                while os.path.exists(f"/proc/{root}"): time.sleep(0.01)
                report("left", sockets)
                os._exit(0)
            while not all(os.path.exists(f"{sys.argv[1]}/{name}") for name in ["orphan", "daemon"]): time.sleep(0.01)
            """

        private func run(
            _ more: [String], _ body: (_ results: [String: String], AgentProcess) async throws -> Void
        ) async throws {
            let service = try CarillonProcess.current
            // Another test may have made it.
            _ = try? await service.createApp("com.example.other", of: try service.developmentKey.teamID)
            try await withAgentFolder { folder in
                let data = folder + "/data"
                try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
                let script = Self.client.replacing("OWN", with: own).replacing("OTHER", with: other)
                try AgentRig.write(script, to: folder + "/client.py")
                try AgentProcess.write(
                    #"{"bundleID":"com.example.app","exec":["/usr/bin/python3","\#(folder)/client.py","\#(data)","\#(folder)/s"]}"#,
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
