import CommonTesting
import Foundation
import HTTPAPIClient
import NIOCore
import NIOHTTP1
import NIOPosix
import Service
import Notifications
import Testing

@testable import DeviceAgent
@testable import ServiceTesting

/// The agent as a process, with a service as another one.
@Suite(.service(), .startsPrograms, .timeLimit(.minutes(3))) struct AgentProcessTests {
    private let bundleID = "com.example.app"

    private func send(_ alert: String, to token: String) async throws {
        let answer = try await CarillonProcess.current.send(alert: alert, to: token)
        #expect(answer.status == 200)
    }

    private func token(_ agent: AgentProcess, _ app: String? = nil) async throws -> String {
        try required(try await agent.client.ask(.PUT, "/v1/apps/\(app ?? bundleID)", nil)["token"]?.string)
    }

    @Test func `The agent activates itself, and is the same device after a kill`() async throws {
        try await withAgentFolder { folder in
            try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
            var (device, deviceToken, kept) = ("", "", JSONValue.null)
            try await AgentProcess.with(folder) { agent in
                #expect(agent.socket == folder + "/s")
                device = agent.deviceID
                deviceToken = try await token(agent)
                let stream = EventReader(agent.client, "/v1/apps/\(bundleID)/events")
                try await send("kept", to: deviceToken)
                kept = try await stream.next()[0]
                await agent.kill()
            }
            // It comes while nobody is connected.
            try await send("later", to: deviceToken)
            try await AgentProcess.with(folder) { agent in
                #expect(agent.deviceID == device)
                let stream = EventReader(agent.client, "/v1/apps/\(bundleID)/events")
                let events = try await stream.next(2)
                #expect(events[0] == kept && events[1]["content"]?["body"] == "later")
                let answer = try await agent.client.ask(
                    .POST, "/v1/apps/\(bundleID)/handled",
                    ["deliveries": .array(events.compactMap { $0["delivery"] })])
                #expect(answer == ["handled": 2])
                agent.child.signal(SIGTERM)
                #expect(await agent.child.finished().status == 0)
                await stream.ended()
            }
            try await AgentProcess.with(folder) { agent in
                #expect(try await token(agent) == deviceToken)
                let stream = EventReader(agent.client, "/v1/apps/\(bundleID)/events")
                try await send("last", to: deviceToken)
                #expect(try await stream.next()[0]["content"]?["body"] == "last")
            }
        }
    }

    /// Whether this machine lets the tests make a network.
    private static var hasNetworks: Bool {
        get async {
            guard ChildProcess.isInstalled("unshare"), ChildProcess.isInstalled("ip") else { return false }
            return (try? await ChildProcess.run("unshare", ["--net", "ip", "link", "set", "lo", "up"]))?.status == 0
        }
    }

    @Test(.enabled("it needs unshare, ip, and the right to make a network") { await hasNetworks })
    func `An agent starts without a network, and sees when there is one`() async throws {
        try await withAgentFolder { folder in
            try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
            var deviceToken = ""
            try await AgentProcess.with(folder) { agent in deviceToken = try await token(agent) }
            // The kernel gives the interface its address when it is up.
            let script = #"mkfifo "$0/up"; (read -r line <"$0/up"; ip link set lo up) & exec "$@""#
            try await AgentProcess.with(folder, startedBy: ["unshare", "--net", "sh", "-c", script, folder]) { agent in
                #expect(try await token(agent) == deviceToken)
                _ = try await ChildProcess.run("sh", ["-c", #"echo >"$0""#, folder + "/up"])
                await agent.child.errors.wait(for: "An address was added to a network interface")
            }
        }
    }

    @Test func `The agent takes an identity that was provisioned, and keeps its own copy`() async throws {
        let identity = try await CarillonProcess.current.activate()
        try await withAgentFolder { folder in
            try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
            var device = ""
            try await AgentProcess.with(folder, ["--identity", identity]) { agent in device = agent.deviceID }
            let own = folder + "/state/identity.pem"
            #expect(try String(contentsOfFile: own, encoding: .utf8).contains(device))
            let attributes = try FileManager.default.attributesOfItem(atPath: own)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            try await AgentProcess.with(folder) { agent in #expect(agent.deviceID == device) }
        }
    }

    @Test func `The codes of one command activate one agent each, in production`() async throws {
        let service = try CarillonProcess.current
        let invited = try await service.carillon("device", "invite", "--environment", "production", "--count", "2")
        let codes = try invited.objects.compactMap { $0["code"]?.text }
        #expect(Set(codes).count == 2)
        let courier = try required(service.ready.production).courier
        let more = ["--service", "https://\(courier)", "--environment", "production"]
        for code in codes {
            try await withAgentFolder { folder in
                try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
                try AgentRig.write(code + "\n", to: folder + "/code")
                try await AgentProcess.with(folder, more + ["--code-file", folder + "/code"]) { agent in
                    let status = try await agent.client.ask(.GET, "/v1/status")
                    #expect(status["environment"] == "production")
                }
                // The agent needs the code once.
                try FileManager.default.removeItem(atPath: folder + "/code")
                try await AgentProcess.with(folder, more + ["--code-file", folder + "/code"]) { _ in }
            }
        }
        try await withAgentFolder { folder in
            let arguments = ["device", "agent"] + (try AgentProcess.arguments(folder)) + more + ["--code", codes[0]]
            let refused = try await BuiltCommand.run(arguments)
            #expect(refused.status != 0 && refused.errors.contains("cannot be activated"), "\(refused.errors)")
        }
    }

    @Test func `Two agents cannot use one folder, and a file in the socket's place stays`() async throws {
        try await withAgentFolder { folder in
            try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
            try await AgentProcess.with(folder) { _ in
                let second = try await BuiltCommand.run(["device", "agent"] + (try AgentProcess.arguments(folder)))
                #expect(second.status != 0 && second.errors.contains("Another agent uses"))
            }
            try await withAgentFolder { other in
                try AgentRig.write("mine", to: other + "/s")
                let third = try await BuiltCommand.run(["device", "agent"] + (try AgentProcess.arguments(other)))
                #expect(third.status != 0 && third.errors.contains("not a socket"))
                #expect(try String(contentsOfFile: other + "/s", encoding: .utf8) == "mine")
            }
        }
    }

    @Test func `A command of an app runs for each notification, and again if it fails`() async throws {
        try await withAgentFolder { folder in
            let script = """
                #!/bin/sh
                # The first run fails.
                if [ ! -e \(folder)/tried ]; then touch \(folder)/tried; exit 1; fi
                (env | grep -c CARILLON_AGENT_SOCKET; env | grep -c PATH_OF_TESTS; cat; echo; echo "$CARILLON_NOTIFICATION_EVENT $1") \
                > \(folder)/out.new && mv \(folder)/out.new \(folder)/out
                """
            try AgentRig.write(script, to: folder + "/run")
            chmod(folder + "/run", 0o755)
            try AgentProcess.write(
                #"{"bundleID":"com.example.app","exec":["\#(folder)/run","an argument"]}"#, in: folder)
            try await AgentProcess.with(folder, environment: ["PATH_OF_TESTS": "1"]) { agent in
                try await send("$(touch \(folder)/evil)", to: try await token(agent))
                await agent.child.errors.wait(for: "An app has handled events")
                let lines = try String(contentsOfFile: folder + "/out", encoding: .utf8).split(separator: "\n")
                #expect(lines[0] == "1" && lines[1] == "0" && lines[3] == "shown an argument")
                #expect(JSONValue(Array(lines[2].utf8))?["aps"]?["alert"] != nil)
                #expect(!FileManager.default.fileExists(atPath: folder + "/evil"))
                #expect(try await agent.pending() == 0)
            }
        }
    }

    @Test func `A command does not run for what the app has handled while other commands had all places`() async throws
    {
        try await withAgentFolder { folder in
            let service = try CarillonProcess.current
            let busy = (1...AgentLimits.programs).map { "com.example.busy\($0)" }
            let busyScript = """
                #!/bin/sh
                touch \(folder)/began-$1
                while [ ! -e \(folder)/go ]; do sleep 0.1; done
                """
            try AgentRig.write(busyScript, to: folder + "/wait")
            let note = """
                #!/bin/sh
                # The first run only.
                [ -e \(folder)/ran ] || { echo $CARILLON_NOTIFICATION_DELIVERY > \(folder)/new; mv \(folder)/new \(folder)/ran; }
                """
            try AgentRig.write(note, to: folder + "/note")
            for script in ["wait", "note"] { chmod("\(folder)/\(script)", 0o755) }
            for app in busy {
                try await service.createApp(app, of: try service.developmentKey.teamID)
                try AgentProcess.write(
                    #"{"bundleID":"\#(app)","exec":["\#(folder)/wait","\#(app)"]}"#, in: folder, as: app)
            }
            try AgentProcess.write(#"{"bundleID":"com.example.app","exec":["\#(folder)/note"]}"#, in: folder)
            func waitForFile(_ file: String) async throws {
                try await wait(while: !FileManager.default.fileExists(atPath: "\(folder)/\(file)"))
            }
            try await AgentProcess.with(folder) { agent in
                for app in busy {
                    _ = try await service.send(alert: "Order 1", to: try await token(agent, app), topic: app)
                    try await waitForFile("began-" + app)
                }
                let own = try await token(agent)
                try await send("Order 7", to: own)
                let stream = EventReader(agent.client, "/v1/apps/\(bundleID)/events")
                let handled = try required(try await stream.next()[0]["delivery"]?.int)
                _ = try await agent.client.ask(
                    .POST, "/v1/apps/\(bundleID)/handled", ["deliveries": [.integer(handled)]])
                stream.close()
                try AgentRig.write("", to: folder + "/go")
                try await send("Order 8", to: own)
                try await waitForFile("ran")
                #expect(try String(contentsOfFile: folder + "/ran", encoding: .utf8) == "\(handled + 1)\n")
            }
        }
    }

    // The pool's timer wakes the machine once a second: docs/decisions/0082-tasks-on-an-event-loop.md.
    @Test func `The agent's program begins no thread of libdispatch's pool`() async throws {
        try await withAgentFolder { folder in
            try AgentProcess.write(#"{"bundleID":"com.example.app","exec":["/bin/true"]}"#, in: folder)
            try await AgentProcess.with(folder) { agent in
                try await send("Order 7", to: try await token(agent))
                await agent.child.errors.wait(for: "An app has handled events")
                let tasks = "/proc/\(agent.child.processID)/task"
                let names = try FileManager.default.contentsOfDirectory(atPath: tasks).compactMap {
                    try? String(contentsOfFile: "\(tasks)/\($0)/comm", encoding: .utf8)
                }
                #expect(names.contains { $0.contains("NIO") })
                // Threads of queues with a name end with "overcommit", and are not the pool's.
                #expect(!names.contains { $0.hasSuffix("default-qos\n") }, "\(names)")
            }
        }
    }

    @Test(
        .enabled(
            if: Confinement.isPossible && ChildProcess.isInstalled("curl"), "it needs curl and a kernel with Landlock"))
    func `A confined command can read neither the device's identity nor the code, and everything else`() async throws {
        try await withAgentFolder { folder in
            let data = folder + "/data"
            try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
            try AgentRig.write("readable", to: data + "/beside")
            // In development on this machine an activation needs no code.
            try AgentRig.write("\n", to: folder + "/code")
            let script = """
                #!/bin/sh
                cat "\(data)/beside" || exit 1
                for file in "\(folder)/state/identity.pem" "\(folder)/state/agent.sqlite" "\(folder)/code"; do
                    if cat "$file" >/dev/null 2>&1; then echo " $file"; fi
                done
                if touch "\(folder)/state/new" "\(folder)/apps.d/new.json" 2>/dev/null; then echo " made"; fi
                if rm -f "$CARILLON_AGENT_SOCKET" 2>/dev/null; then echo " removed"; fi
                curl -sf --unix-socket "$CARILLON_AGENT_SOCKET" http://agent/v1/status >/dev/null || echo " not asked"
                test "$(ls /proc/self/fd | tr '\n' ' ')" = "0 1 2 3 " || echo " open files"
                head -c 1 /etc/passwd >/dev/null && ls /usr/bin >/dev/null || echo " missing"
                ls "\(folder)" >/dev/null && mv "\(data)/beside" "\(data)/moved" && echo " moved $1"
                """
            try AgentRig.write(script, to: folder + "/run")
            chmod(folder + "/run", 0o755)
            try AgentProcess.write(
                #"{"bundleID":"com.example.app","exec":["\#(folder)/run","an argument"]}"#, in: folder)
            try await AgentProcess.with(folder, ["--confine-commands", "--code-file", folder + "/code"]) { agent in
                try await send("Hello", to: try await token(agent))
                await agent.child.errors.wait(for: "An app has handled events")
                // What commands print is in the agent's own output.
                let printed = agent.child.errors.text
                // The agent's own lines may stand between them.
                #expect(printed.contains("readable") && printed.contains(" moved an argument\n"), "\(printed)")
                let names = [folder + "/state/identity.pem", folder + "/state/agent.sqlite", folder + "/code"]
                for word in names + ["made", "removed", "not asked", "missing", "open files"] {
                    #expect(!printed.contains(" \(word)\n"), "\(printed)")
                }
            }
        }
    }

    /// Starts a program for which Landlock's system calls (444 to 446) fail with an error number, as on a kernel without it: a filter
    /// of system calls (seccomp(2)) in classic BPF.
    private static let withoutLandlock = """
        import ctypes, os, struct, sys
        instructions = [(0x20, 0, 0, 0), (0x35, 0, 2, 444), (0x25, 1, 0, 446), (0x06, 0, 0, 0x50000 | int(sys.argv[1])),
            (0x06, 0, 0, 0x7fff0000)]
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in instructions))
        program = struct.pack("HxxxxxxQ", len(instructions), ctypes.addressof(code))
        system = ctypes.CDLL(None, use_errno=True)
        if system.prctl(38, 1, 0, 0, 0) or system.prctl(22, 2, program): sys.exit(os.strerror(ctypes.get_errno()))
        os.execv(sys.argv[2], sys.argv[2:])
        """

    /// Whether this machine lets the tests have a kernel without Landlock.
    private static var canHideLandlock: Bool {
        get async {
            let arguments = ["-c", withoutLandlock, "\(ENOSYS)", "/bin/true"]
            return (try? await ChildProcess.run("python3", arguments))?.status == 0
        }
    }

    @Test(
        .enabled("it needs python3, and filters of system calls") { await canHideLandlock },
        arguments: [ENOSYS, EOPNOTSUPP])
    func `On a kernel without Landlock the agent runs commands as they are, and says so`(_ error: CInt) async throws {
        try await withAgentFolder { folder in
            let script = #"""
                #!/bin/sh
                grep -q KEY "\#(folder)/state/identity.pem" && echo " it reads the identity"
                """#
            try AgentRig.write(script, to: folder + "/run")
            chmod(folder + "/run", 0o755)
            try AgentProcess.write(#"{"bundleID":"com.example.app","exec":["\#(folder)/run"]}"#, in: folder)
            let starter = ["python3", "-c", Self.withoutLandlock, "\(error)"]
            try await AgentProcess.with(folder, ["--confine-commands"], startedBy: starter) { agent in
                await agent.child.errors.wait(for: "the kernel has no Landlock")
                try await send("Hello", to: try await token(agent))
                await agent.child.errors.wait(for: "An app has handled events")
                let printed = agent.child.errors.text
                #expect(printed.contains(" it reads the identity\n"), "\(printed)")
            }
        }
    }

    @Test(.enabled(if: ChildProcess.isInstalled("python3"), "it damages the database"))
    func `An agent whose database is damaged meanwhile ends, and begins with an empty one`() async throws {
        try await withAgentFolder { folder in
            try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
            let file = folder + "/state/agent.sqlite"
            var first = ""
            try await AgentProcess.with(folder) { agent in
                first = try await token(agent)
                // The table of the events is now at a page that does not exist.
                let script = """
                    import sqlite3, sys
                    database = sqlite3.connect(sys.argv[1])
                    database.execute("PRAGMA writable_schema = ON")
                    database.execute("UPDATE sqlite_master SET rootpage = 1000000 WHERE name = 'event'")
                    database.execute("PRAGMA schema_version = 1000")
                    database.commit()
                    """
                let damaged = try await ChildProcess.run("python3", ["-c", script, file])
                #expect(damaged.status == 0, "\(damaged.errors)")
                try await send("unstored", to: first)
                let finished = await agent.child.finished()
                #expect(finished.status != 0 && finished.errors.contains("is damaged"), "\(finished.errors)")
            }
            try await AgentProcess.with(folder) { agent in
                #expect(FileManager.default.fileExists(atPath: file + ".damaged"))
                #expect(try await token(agent) == first)
                let stream = EventReader(agent.client, "/v1/apps/\(bundleID)/events")
                try await send("stored", to: first)
                // The service has kept the first one, because it was not acknowledged. If the agent is connected by now, it comes too.
                var body = try await stream.next()[0]["content"]?["body"]
                if body == "unstored" { body = try await stream.next()[0]["content"]?["body"] }
                #expect(body == "stored")
            }
        }
    }

    @Test func `The commands status, apps and settings ask the agent`() async throws {
        try await withAgentFolder { folder in
            try AgentProcess.write(#"{"bundleID":"com.example.app","name":"Kiosk"}"#, in: folder)
            try AgentProcess.write("{}", in: folder, as: "broken")
            try await AgentProcess.with(folder) { agent in
                _ = try await token(agent)
                func ask(_ arguments: String...) async throws -> ChildProcess.Finished {
                    try await BuiltCommand.run(["device", "agent"] + arguments + ["--socket", agent.socket])
                }
                let status = try await ask("status", "--json")
                let document = try required(JSONValue(Array(status.output.utf8)))
                #expect(document["deviceID"]?.string == agent.deviceID && document["connection"] == "connected")
                let text = try await ask("status")
                #expect(text.output.contains("broken.json") && text.output.contains("bundleID is missing"))
                let apps = try await ask("apps")
                #expect(apps.output.contains("com.example.app  background, 0 streams, 0 pending"))
                let off = try await ask("settings", bundleID, "--notifications", "off")
                #expect(off.output.contains("com.example.app  alerts off, sounds off, badges off"))
                let quiet = try await ask("settings", "--do-not-disturb", "on", "--json")
                #expect(JSONValue(Array(quiet.output.utf8))?["doNotDisturb"] == true)
                let unknown = try await ask("settings", "com.example.unknown")
                #expect(unknown.status == 1 && unknown.errors.contains("com.example.unknown has not registered"))
            }
        }
    }

    @Test func `A command says that an agent which was stopped does not answer`() async throws {
        try await withAgentFolder { folder in
            try await AgentProcess.with(folder) { agent in
                agent.child.signal(SIGSTOP)
                let status = try await BuiltCommand.run(["device", "agent", "status", "--socket", agent.socket])
                #expect(status.status == 1 && status.errors.contains("it did not answer in time"), "\(status.errors)")
                agent.child.signal(SIGCONT)
            }
        }
    }

    @Test func `A signal ends an agent that waits for its activation, and that is no failure`() async throws {
        try await withAgentFolder { folder in
            let (accepted, acceptance) = AsyncStream.makeStream(of: Void.self)
            let silent = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { channel in
                    acceptance.yield()
                    return channel.eventLoop.makeSucceededVoidFuture()
                }
                .bind(host: "127.0.0.1", port: 0).get()
            var arguments = try AgentProcess.arguments(folder)
            let service = try required(arguments.firstIndex(of: "--service")) + 1
            arguments[service] = "https://127.0.0.1:\(try required(silent.localAddress?.port))"
            try await ChildProcess.with(BuiltCommand.agentPath, arguments) { agent in
                _ = await accepted.first { _ in true }
                agent.signal(SIGTERM)
                let end = await agent.finished()
                #expect(end.status == 0, "\(end.errors)")
            }
            try await silent.close()
        }
    }

    // MARK: Two apps of two users

    /// Runs curl as another user.
    private func curl(
        as user: UInt32, _ agent: AgentProcess, _ arguments: String...
    ) async throws -> ChildProcess.Finished {
        try await ChildProcess.run(
            "setpriv",
            [
                "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "curl", "-q", "-sS", "--max-time", "60",
                "--unix-socket", agent.socket,
            ] + arguments)
    }

    @Test(
        .enabled(if: geteuid() == 0, "only root can be two users"),
        .enabled(if: ChildProcess.isInstalled("setpriv"), "setpriv is of util-linux"))
    func `Two apps of two users get their own notifications, and cannot be each other`() async throws {
        try await withAgentFolder { folder in
            chmod(folder, 0o755)
            try AgentProcess.write(#"{"bundleID":"com.example.app","user":"30001"}"#, in: folder)
            try AgentProcess.write(#"{"bundleID":"com.example.till","group":"30002"}"#, in: folder, as: "till")
            let service = try CarillonProcess.current
            try await service.createApp("com.example.till", of: try service.developmentKey.teamID)
            try await AgentProcess.with(folder) { agent in
                let url = "http://agent/v1/apps/"
                var tokens: [String: String] = [:]
                for (user, app) in [(30001, "com.example.app"), (30002, "com.example.till")] as [(UInt32, String)] {
                    let answer = try await curl(as: user, agent, "-X", "PUT", url + app)
                    tokens[app] = JSONValue(Array(answer.output.utf8))?["token"]?.string
                    // The other one is refused, whatever it asks for.
                    for arguments in [["-X", "PUT"], ["-X", "DELETE"], [], ["-d", #"{"deliveries":[1]}"#]] {
                        let path = arguments.isEmpty ? "/events" : arguments[0] == "-d" ? "/handled" : ""
                        let refused = try await ChildProcess.run(
                            "setpriv",
                            [
                                "--reuid=\(user == 30001 ? 30002 : 30001)", "--regid=\(user == 30001 ? 30002 : 30001)",
                                "--clear-groups", "curl", "-q", "-sS", "--max-time", "60", "-o", "/dev/null", "-w",
                                "%{http_code}", "--unix-socket", agent.socket,
                            ] + arguments + [url + app + path])
                        #expect(refused.output == "403", "\(user) \(arguments)")
                    }
                    let settings = try await curl(
                        as: user, agent, "-o", "/dev/null", "-w", "%{http_code}", "http://agent/v1/settings")
                    #expect(settings.output == "403")
                }
                try await send("for the app", to: try required(tokens["com.example.app"]))
                let till = try await service.send(
                    alert: "for the till", to: try required(tokens["com.example.till"]),
                    topic: "com.example.till")
                #expect(till.status == 200)
                for (user, app, text) in [
                    (30001, "com.example.app", "for the app"), (30002, "com.example.till", "for the till"),
                ]
                    as [(UInt32, String, String)]
                {
                    let line = try await ChildProcess.with(
                        "setpriv",
                        [
                            "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "curl", "-q", "-sSN",
                            "--unix-socket", agent.socket, url + app + "/events",
                        ]
                    ) { try required(await $0.output.nextLine()) }
                    #expect(JSONValue(Array(line.utf8))?["content"]?["body"]?.string == text)
                    let status = try await curl(as: user, agent, "http://agent/v1/status")
                    guard case .array(let apps)? = JSONValue(Array(status.output.utf8))?["apps"] else {
                        #expect(Bool(false), "\(status.output)")
                        continue
                    }
                    #expect(apps.count == 1 && apps.first?["bundleID"]?.string == app)
                }
            }
        }
    }
}
