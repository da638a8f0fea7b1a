import CommonTesting
import Foundation
import HTTPAPIClient
import NIOHTTP1
import Notifications
import Service
import Testing

@testable import DeviceAgent
@testable import ServiceTesting

/// What a machine does to its agent: its disk is full, and its clock jumps.
@Suite(.service(), .startsPrograms, .timeLimit(.minutes(3))) struct AgentFaultTests {
    private let bundleID = "com.example.app"
    private let till = "com.example.till"

    private func send(_ alert: String, to token: String, _ app: String? = nil) async throws {
        let answer = try await CarillonProcess.current.send(alert: alert, to: token, topic: app ?? bundleID)
        #expect(answer.status == 200)
    }

    private func token(_ agent: AgentProcess, _ app: String? = nil) async throws -> String {
        try required(try await agent.client.ask(.PUT, "/v1/apps/\(app ?? bundleID)", nil)["token"]?.string)
    }

    private func stream(_ agent: AgentProcess, _ app: String? = nil) -> EventReader {
        EventReader(agent.client, "/v1/apps/\(app ?? bundleID)/events")
    }

    private func body(_ event: JSONValue) -> String? { event["content"]?["body"]?.string }

    private func handle(_ event: JSONValue, _ agent: AgentProcess, _ app: String? = nil) async throws {
        _ = try await agent.client.ask(
            .POST, "/v1/apps/\(app ?? bundleID)/handled", ["deliveries": .array([try required(event["delivery"])])])
    }

    // MARK: A full disk

    private static let notStored = "A notification cannot be stored; it is not acknowledged until it is"
    private static let full = "The disk is full"

    @Test(.enabled("it needs unshare, nsenter, and the right to mount") { await SmallDisk.isPossible })
    func `On a full disk nothing is acknowledged, apps go on, and everything comes when there is room`() async throws {
        try await withAgentFolder { folder in
            try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
            try AgentProcess.write(#"{"bundleID":"com.example.till"}"#, in: folder, as: "till")
            let service = try CarillonProcess.current
            try await service.createApp(till, of: try service.developmentKey.teamID)
            try await SmallDisk.with(folder + "/state") { disk in
                var (device, tokens) = ("", (app: "", till: ""))
                try await AgentProcess.with(folder, startedBy: disk.starter) { agent in
                    device = agent.deviceID
                    tokens = (try await token(agent), try await token(agent, till))
                    let events = stream(agent)
                    try await send("for the till", to: tokens.till, till)
                    let kept = try await stream(agent, till).next()[0]

                    try await disk.fill()
                    try await send("on a full disk", to: tokens.app)
                    await agent.child.errors.wait(for: Self.notStored)
                    #expect(agent.child.errors.text.contains(Self.full))
                    // Another app reads what is on the disk, registers as before, and is told why nothing can be removed.
                    #expect(try await stream(agent, till).next()[0] == kept)
                    #expect(try await token(agent, till) == tokens.till)
                    let refused = await #expect(throws: AgentRig.Refused.self) {
                        try await handle(kept, agent, till)
                    }
                    #expect(refused?.status == 503 && refused?.detail.contains(Self.full) == true)

                    try await disk.free()
                    let event = try await events.next()[0]
                    #expect(body(event) == "on a full disk")
                    try await handle(event, agent)
                    try await handle(kept, agent, till)

                    try await disk.fill()
                    try await send("before a kill", to: tokens.app)
                    await agent.child.errors.wait { $0.split(separator: Self.notStored).count == 3 }
                    await agent.kill()
                }
                try await disk.free()
                try await AgentProcess.with(folder, startedBy: disk.starter) { agent in
                    #expect(agent.deviceID == device)
                    // It was not acknowledged, so the service has sent it again.
                    let event = try await stream(agent).next()[0]
                    #expect(body(event) == "before a kill")
                    agent.child.signal(SIGTERM)
                    #expect(await agent.child.finished().status == 0)
                }
                try await disk.fill()
                try await expectRefusedStart(folder, disk)
                try await disk.free()
                try await AgentProcess.with(folder, startedBy: disk.starter) { agent in
                    #expect(agent.deviceID == device)
                    // A full disk is no damaged database.
                    let printed = agent.child.errors.text
                    #expect(!printed.contains("damaged"), "\(printed)")
                    let event = try await stream(agent).next()[0]
                    #expect(body(event) == "before a kill")
                }
            }
        }
    }

    /// An agent that finds no room at its start ends with the reason, and its unit starts it again.
    private func expectRefusedStart(_ folder: String, _ disk: SmallDisk) async throws {
        let command = disk.starter + [BuiltCommand.agentPath] + (try AgentProcess.arguments(folder))
        let ended = try await ChildProcess.run(command[0], Array(command.dropFirst()))
        #expect(ended.status != 0 && ended.errors.contains(Self.full), "\(ended.errors)")
    }

    // MARK: Commands

    /// Changes the agent's database, as another program could.
    private func execute(_ statement: String, in folder: String) async throws {
        let script = "import sqlite3, sys; sqlite3.connect(sys.argv[1], isolation_level=None).execute(sys.argv[2])"
        let changed = try await ChildProcess.run(
            "python3", ["-c", script, folder + "/state/agent.sqlite", statement])
        #expect(changed.status == 0, "\(changed.errors)")
    }

    @Test(.enabled(if: ChildProcess.isInstalled("python3"), "it changes the database"))
    func `A command that has handled an event does not run again while that cannot be stored`() async throws {
        try await withAgentFolder { folder in
            let script = #"""
                #!/bin/sh
                echo ran >>"\#(folder)/runs"
                """#
            try AgentRig.write(script, to: folder + "/run")
            chmod(folder + "/run", 0o755)
            try AgentProcess.write(#"{"bundleID":"com.example.app","exec":["\#(folder)/run"]}"#, in: folder)
            try await AgentProcess.with(folder) { agent in
                let deviceToken = try await token(agent)
                try await execute(
                    "CREATE TRIGGER kept BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'kept'); END", in: folder)
                try await send("Order 7", to: deviceToken)
                // Twice.
                await agent.child.errors.wait {
                    $0.split(separator: "A handled event stays in the queue").count >= 3
                }
                try await execute("DROP TRIGGER kept", in: folder)
                await agent.child.errors.wait(for: "An app has handled events")
                #expect(try String(contentsOfFile: folder + "/runs", encoding: .utf8) == "ran\n")
            }
        }
    }

    @Test func `An app whose manifest was corrected is woken for what waits for it`() async throws {
        try await withAgentFolder { folder in
            try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
            try await AgentProcess.with(folder) { agent in
                try await send("Order 7", to: try await token(agent))
                try await wait(while: try await agent.pending() == 0)
                try AgentProcess.write(#"{"bundleID":"com.example.app","exec":["/bin/true"]}"#, in: folder)
                // The agent also reads the manifests for its status, but not every time.
                try await wait(while: try await agent.pending() != 0)
            }
        }
    }

    // MARK: The clock

    private static let years: Int64 = 31_557_600

    @Test(.enabled(if: MovedClock.isPossible, "it makes a library with a C compiler"))
    func `While the clock jumps, notifications come and commands are tried again`() async throws {
        try await withAgentFolder { folder in
            let clock = try await MovedClock(folder)
            // The command fails until the test has moved the clock back.
            let script = #"""
                #!/bin/sh
                test -e "\#(folder)/moved"
                """#
            try AgentRig.write(script, to: folder + "/run")
            chmod(folder + "/run", 0o755)
            try AgentProcess.write(#"{"bundleID":"com.example.app","exec":["\#(folder)/run"]}"#, in: folder)
            try AgentProcess.write(#"{"bundleID":"com.example.clock"}"#, in: folder, as: "clock")
            let service = try CarillonProcess.current
            let clockApp = "com.example.clock"
            try await service.createApp(clockApp, of: try service.developmentKey.teamID)
            try await AgentProcess.with(folder, environment: clock.environment) { agent in
                let tokens = (app: try await token(agent), other: try await token(agent, clockApp))
                let events = stream(agent, clockApp)
                for (years, text) in [(0, "now"), (20, "in 20 years"), (-40, "40 years ago"), (0, "now again")] {
                    try clock.move(to: Int64(years) * Self.years)
                    try await send(text, to: tokens.other, clockApp)
                    let event = try await events.next()[0]
                    #expect(body(event) == text)
                    try await handle(event, agent, clockApp)
                }
                try clock.move(to: 20 * Self.years)
                try await send("for the command", to: tokens.app)
                await agent.child.errors.wait(for: "An app's command did not handle a notification")
                try clock.move(to: -40 * Self.years)
                try AgentRig.write("", to: folder + "/moved")
                await agent.child.errors.wait { $0.split(separator: "An app has handled events").count == 6 }
            }
        }
    }

    @Test(.enabled(if: MovedClock.isPossible, "it makes a library with a C compiler"))
    func `An agent whose clock is wrong at its start says so, serves apps, and connects when it is right`() async throws
    {
        try await withAgentFolder { folder in
            let clock = try await MovedClock(folder)
            try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
            var (deviceToken, kept) = ("", JSONValue.null)
            try await AgentProcess.with(folder, environment: clock.environment) { agent in
                deviceToken = try await token(agent)
                try await send("kept", to: deviceToken)
                kept = try await stream(agent).next()[0]
            }
            try clock.move(to: -40 * Self.years)
            try await AgentProcess.with(folder, environment: clock.environment) { agent in
                await agent.child.errors.wait(for: "before its own certificate was made: it is wrong")
                #expect(try await token(agent) == deviceToken)
                let events = stream(agent)
                #expect(try await events.next()[0] == kept)
                try await send("later", to: deviceToken)
                try clock.move(to: 0)
                let event = try await events.next()[0]
                #expect(body(event) == "later")
            }
        }
    }

    /// Whether the tests may set the machine's clock.
    private static var canSetClock: Bool {
        get async { await setClock(by: 0) }
    }

    /// Sets the machine's clock by so many nanoseconds: clock_adjtime(2) with ADJ_SETOFFSET and ADJ_NANO.
    private static func setClock(by nanoseconds: Int) async -> Bool {
        guard MemoryLayout<Int>.size == 8 else { return false }
        let script = """
            import ctypes, struct, sys
            time = ctypes.create_string_buffer(208)
            struct.pack_into("I", time, 0, 0x2100)
            struct.pack_into("qq", time, 72, 0, int(sys.argv[1]))
            sys.exit(ctypes.CDLL(None).clock_adjtime(0, time) < 0)
            """
        return (try? await ChildProcess.run("python3", ["-c", script, "\(nanoseconds)"]))?.status == 0
    }

    @Test(.enabled("it needs python3 and the right to set the machine's clock") { await canSetClock })
    func `The kernel tells the agent when the clock was set, by a nanosecond here, as it does after a suspend`()
        async throws
    {
        try await withAgentFolder { folder in
            try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
            try await AgentProcess.with(folder) { agent in
                let deviceToken = try await token(agent)
                #expect(await Self.setClock(by: 1))
                await agent.child.errors.wait(for: "The machine's clock was set")
                try await send("afterwards", to: deviceToken)
                let event = try await stream(agent).next()[0]
                #expect(body(event) == "afterwards")
            }
        }
    }
}
