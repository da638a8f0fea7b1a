import CommonTesting
import Foundation
import Synchronization
import Testing

@testable import DeviceAgent

/// The commands that the agent runs.
@Suite(.startsPrograms, .timeLimit(.minutes(1))) struct ProgramTests {
    private func run(_ script: String, input: String = "", limit: Duration = .seconds(50)) async -> Program.End {
        await Program.run(
            ["/bin/sh", "-c", script], environment: ["PATH": "/usr/bin:/bin"], input: Array(input.utf8), limit: limit)
    }

    @Test func `A program gets the payload on its standard input, and its status is the result`() async {
        #expect(await run(#"test "$(cat)" = "a payload""#, input: "a payload") == .exited(0))
        #expect(await run("exit 3") == .exited(3))
        #expect(await run("kill -9 $$") == .signaled(9))
    }

    @Test func `A program that reads nothing is no failure`() async {
        #expect(await run("exit 0", input: String(repeating: "x", count: 5000)) == .exited(0))
    }

    @Test func `So much of what a program prints is copied, and the rest is read and dropped`() async throws {
        let exceeded = Mutex(0)
        let output = try await PrintedOutput.open(limit: 10) { exceeded.withLock { $0 += 1 } }
        // The pipe has 64 KiB, so the program would hang if nobody read it.
        let end = await Program.run(
            ["/bin/sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' '.'"], environment: ["PATH": "/usr/bin:/bin"],
            input: [],
            limit: .seconds(50), output: output, processes: nil, of: "com.example.app")
        #expect(end == .exited(0))
        #expect(exceeded.withLock(\.self) == 1)
        let short = try await PrintedOutput.open(limit: 10) { exceeded.withLock { $0 += 1 } }
        let few = await Program.run(
            ["/bin/sh", "-c", "echo short"], environment: ["PATH": "/usr/bin:/bin"], input: [], limit: .seconds(50),
            output: short, processes: nil, of: "com.example.app")
        #expect(few == .exited(0) && exceeded.withLock(\.self) == 1)
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/fd"), "it needs Linux's /proc"))
    func `A program has no file of the agent open, and no signal ignored`() async throws {
        let folder = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/dev/null"))
        defer { try? folder.close() }
        // The last one is the folder that ls reads.
        #expect(await run(#"test "$(ls /proc/self/fd | tr '\n' ' ')" = "0 1 2 3 ""#) == .exited(0))
        // The first 31 signals. The C library keeps two of the others for itself.
        let ignored = #"$((0x$(sed -n 's/^SigIgn:[[:space:]]*//p' /proc/self/status) & 0x7fffffff))"#
        #expect(await run(#"test "\#(ignored)" = 0"#) == .exited(0))
    }

    @Test func `A program that does not exist is a failure with a reason`() async {
        let end = await Program.run(["/nonexistent"], environment: [:], input: [], limit: .seconds(1))
        guard case .notStarted = end else { return #expect(Bool(false), "\(end)") }
    }

    @Test func `A program that hangs is ended with what it has started`() async throws {
        try await withTemporaryPath { path in
            // The child ignores SIGTERM and would leave a file.
            let script = "(trap '' TERM; sleep 20; touch \(path)) & trap '' TERM; sleep 20; sleep 20"
            #expect(await run(script, limit: .milliseconds(100)) == .timedOut)
            let left = try await ChildProcess.run("pgrep", ["-f", path])
            #expect(left.status == 1, "\(left.output)")
        }
    }

    @Test func `A program that hangs is ended with what it has started, though it ends first`() async throws {
        try await withTemporaryPath { path in
            let script = "(trap '' TERM; sleep 20; touch \(path)) & wait"
            #expect(await run(script, limit: .milliseconds(100)) == .timedOut)
            let left = try await ChildProcess.run("pgrep", ["-f", path])
            #expect(left.status == 1, "\(left.output)")
        }
    }

    @Test func `An environment has nothing but the notification's and the user's own`() {
        let line = #"{"event":"shown","id":"u","topic":"t","priority":10,"collapseID":"c\u0000d","payload":{"a":1}}"#
        let event = QueuedEvent(delivery: 7, text: Array(line.utf8), attempts: 0)
        let variables = EventVariables.of(event, bundleID: "com.example.app", socket: "/s")
        #expect(variables["CARILLON_NOTIFICATION_ID"] == "u" && variables["CARILLON_NOTIFICATION_PRIORITY"] == "10")
        #expect(
            variables["CARILLON_NOTIFICATION_DELIVERY"] == "7" && variables["CARILLON_NOTIFICATION_EVENT"] == "shown")
        #expect(variables["CARILLON_NOTIFICATION_COLLAPSE_ID"] == nil)
        #expect(variables.keys.allSatisfy { $0.hasPrefix("CARILLON_") || EventVariables.base.keys.contains($0) })
        #expect(EventVariables.payload(of: event) == Array(#"{"a":1}"#.utf8))
    }
}
