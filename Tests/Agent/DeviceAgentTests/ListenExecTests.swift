import CommonTesting
import Foundation
import Notifications
import Testing

@testable import ServiceTesting

/// `carillon device listen --exec`, and the bridge to the iOS simulator with a stand-in for `xcrun`.
@Suite(.service(), .startsPrograms, .timeLimit(.minutes(2))) struct ListenExecTests {
    private let bundleID = "com.example.app"

    /// Writes a program that behaves as `xcrun simctl push booted BUNDLE-ID -`, as far as its arguments and input go.
    private func standIn(_ folder: String, body: String = "") throws {
        let script = """
            #!/bin/sh
            set -eu
            [ "$*" = "simctl push booted \(bundleID) -" ] || { echo "unexpected: $*" >&2; exit 64; }
            \(body)
            cat >> \(folder)/payloads
            echo >> \(folder)/payloads
            printf '%s %s\\n' "${CARILLON_NOTIFICATION_ID-none}" "${CARILLON_NOTIFICATION_PUSH_TYPE-none}" >> \(folder)/variables
            echo "simctl has it" >&2
            """
        try AgentRig.write(script, to: folder + "/xcrun")
        chmod(folder + "/xcrun", 0o755)
    }

    private func listen(
        _ folder: String,
        program: String = "xcrun",
        _ body: (ChildProcess, String) async throws -> Void,
    ) async throws {
        let service = try CarillonProcess.current
        let identity = try await service.activate()
        let arguments =
            service.arguments("device", "listen", "--identity", identity, "--bundle-id", bundleID, "--exec")
            + ["--", program, "simctl", "push", "booted", bundleID, "-"]
        let path = folder + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "")
        try await ChildProcess.with(BuiltCommand.path, arguments, environment: ["PATH": path]) { child in
            let line = try required(await child.output.nextLine())
            try await body(child, try required(JSONValue(Array(line.utf8))?["token"]?.string))
        }
    }

    private func lines(_ path: String) -> [String] {
        // There is no file before the first run.
        ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
    }

    @Test func `The program gets the payload and the variables, and nothing is read by a shell`() async throws {
        try await withAgentFolder { folder in
            try standIn(folder)
            try await listen(folder) { child, token in
                let text = "$(touch \(folder)/evil) `id`"
                let id = "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"
                let answer = try await CarillonProcess.current.send(
                    alert: text, to: token, headers: [("apns-id", id), ("apns-push-type", "alert")])
                #expect(answer.status == 200)
                // The line is printed when the program has ended.
                let line = try required(await child.output.nextLine())
                #expect(JSONValue(Array(line.utf8))?["id"]?.string == id)
                #expect(
                    JSONValue(Array(try required(lines(folder + "/payloads").first).utf8)) == [
                        "aps": ["alert": .string(text)]
                    ])
                #expect(lines(folder + "/variables") == ["\(id) alert"])
                #expect(!FileManager.default.fileExists(atPath: folder + "/evil"))
            }
        }
    }

    @Test func `A program with a relative path is found from the folder of the command`() async throws {
        try await withAgentFolder { folder in
            try standIn(folder)
            let depth = FileManager.default.currentDirectoryPath.split(separator: "/").count
            let program = String(repeating: "../", count: depth) + folder.dropFirst() + "/xcrun"
            try await listen(folder, program: program) { child, token in
                let answer = try await CarillonProcess.current.send(alert: "Hello", to: token)
                #expect(answer.status == 200)
                #expect(await child.output.nextLine() != nil)
                #expect(lines(folder + "/payloads").count == 1)
            }
        }
    }

    @Test func `A program that fails is run again, and the notification is acknowledged after it`() async throws {
        try await withAgentFolder { folder in
            try standIn(folder, body: "[ -e \(folder)/tried ] || { touch \(folder)/tried; exit 1; }")
            try await listen(folder) { child, token in
                let answer = try await CarillonProcess.current.send(alert: "Hello", to: token)
                #expect(answer.status == 200)
                #expect(await child.output.nextLine() != nil)
                #expect(lines(folder + "/variables").count == 1)
                #expect(child.errors.text.contains("did not handle"))
            }
        }
    }

    @Test func `Without a program, or with one and no --exec, the command says what to write`() async throws {
        for arguments in [["--exec"], ["--", "true"], ["--exec", "--as-app", "--json", "--", "true"]] {
            let finished = try await BuiltCommand.run(["device", "listen", "--identity", "/none"] + arguments)
            #expect(finished.status != 0 && finished.errors.contains("--exec"))
        }
    }

    @Test(.enabled(if: ChildProcess.isInstalled("jq"), "the script needs jq"))
    func `The script for a Mac gives simctl each payload`() async throws {
        try await withAgentFolder { folder in
            try standIn(folder)
            let service = try CarillonProcess.current
            let courier = try required(service.ready.development).courier
            let path = folder + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "")
            try await ChildProcess.with(
                Repository.file("Examples/ios-simulator/bridge.sh").path,
                ["https://\(courier)", service.ready.ca, bundleID, folder + "/device"], environment: ["PATH": path]
            ) { child in
                let line = try required(await child.output.nextLine())
                let token = String(try required(line.split(separator: " ").last))
                let answer = try await service.send(alert: "Hello", to: token)
                #expect(answer.status == 200)
                await child.errors.wait(for: "simctl has it")
                #expect(lines(folder + "/payloads") == [#"{"aps":{"alert":"Hello"}}"#])
                // It ends the programs that it has started.
                child.signal(SIGTERM)
                #expect(await child.finished().status == 0)
            }
        }
    }
}
