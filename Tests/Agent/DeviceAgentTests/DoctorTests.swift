import CommonTesting
import Foundation
import HTTPAPIClient
import NIOCore
import NIOPosix
import Notifications
import Testing

@testable import DeviceAgent
@testable import ServiceTesting

/// What `carillon-agent doctor` says, and that it changes nothing.
@Suite(.service(), .startsPrograms, .timeLimit(.minutes(3))) struct DoctorTests {
    private struct Report {
        let findings: [Finding]
        let status: Int32
        let text: String

        subscript(_ check: Finding.Check) -> Finding? { findings.first { $0.check == check } }
        var faults: [Finding.Check] { findings.filter { $0.state == .fault }.map(\.check) }
    }

    private func doctor(_ arguments: [String], environment: [String: String] = [:]) async throws -> Report {
        let own = ["DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": "/nonexistent"]
        let end = try await ChildProcess.run(
            BuiltCommand.agentPath, ["doctor"] + arguments + ["--json"], environment: own.merging(environment) { $1 })
        let findings = try end.output.split(separator: "\n").map { line in
            try JSONDecoder().decode(Finding.self, from: Data(line.utf8))
        }
        #expect(findings.map(\.check) == Finding.Check.allCases, "\(end.output) \(end.errors)")
        #expect(findings.allSatisfy { !$0.text.isEmpty })
        #expect(findings.allSatisfy { ($0.state == .ok || $0.state == .skipped) == $0.advice.isEmpty }, "\(end.output)")
        return Report(findings: findings, status: end.status, text: end.output)
    }

    /// A folder of an agent that has an identity and a manifest.
    private func withDevice(_ body: (_ folder: String, _ arguments: [String]) async throws -> Void) async throws {
        let identity = try await CarillonProcess.current.activate()
        try await withAgentFolder { folder in
            chmod(folder, 0o755)
            try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
            let state = folder + "/state"
            try FileManager.default.createDirectory(
                atPath: state, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let text = try String(contentsOfFile: identity, encoding: .utf8)
            try Data(text.utf8).write(to: URL(fileURLWithPath: state + "/identity.pem"))
            chmod(state + "/identity.pem", 0o600)
            // The doctor takes the agent's own options.
            try await body(folder, try AgentProcess.arguments(folder).filter { $0 != "--json" })
        }
    }

    private func replacing(_ option: String, with value: String, in arguments: [String]) throws -> [String] {
        var arguments = arguments
        arguments[try required(arguments.firstIndex(of: option)) + 1] = value
        return arguments
    }

    private func contents(of folder: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: folder).sorted().map { path in
            let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/" + path)
            return
                "\(path) \(attributes[.modificationDate] ?? "") \(attributes[.size] ?? "") \(attributes[.posixPermissions] ?? "")"
        }
    }

    @Test func `A good device has no fault, and the doctor changes nothing`() async throws {
        try await withDevice { folder, arguments in
            let before = try contents(of: folder)
            let report = try await doctor(arguments)
            #expect(report.status == 0 && report.faults == [], "\(report.text)")
            for check in [.state, .identity, .clock, .port, .certificate, .environment, .manifests] as [Finding.Check] {
                #expect(report[check]?.state == .ok, "\(report.text)")
            }
            #expect(report[.name]?.state == .skipped && report[.bus]?.state == .skipped)
            // The agent does not run, which is a warning alone.
            #expect(report[.socket]?.state == .warning)
            #expect(try contents(of: folder) == before)
        }
    }

    @Test func `Of an agent that runs, the doctor knows the options, and leaves its connection alone`() async throws {
        try await withAgentFolder { folder in
            chmod(folder, 0o755)
            try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
            try await AgentProcess.with(folder) { agent in
                try await wait(
                    while: try await agent.client.ask(.GET, "/v1/status")["connection"] != "connected")
                let report = try await doctor(["--socket", agent.socket])
                #expect(report.status == 0 && report.faults == [], "\(report.text)")
                #expect(report[.socket]?.state == .ok)
                #expect(report[.identity]?.text.contains(agent.deviceID) == true)
                let text = try await BuiltCommand.run(["device", "agent", "doctor", "--socket", agent.socket])
                let lines = text.output.split(separator: "\n")
                #expect(text.status == 0 && lines.count == Finding.Check.allCases.count)
                #expect(lines.first?.hasPrefix("ok state: ") == true, "\(text.output)")
                #expect(!agent.child.errors.text.contains("Disconnected"))
            }
        }
    }

    @Test func `The provider API's port is found, and the advice is about the port`() async throws {
        let provider = try required(CarillonProcess.current.ready.development).provider
        try await withDevice { _, arguments in
            let report = try await doctor(
                try replacing("--service", with: "https://\(provider)", in: arguments))
            #expect(report.status == 1 && report.faults.contains(.certificate), "\(report.text)")
            #expect(report[.certificate]?.advice.contains("5223") == true, "\(report.text)")
        }
    }

    @Test func `Without options, an agent and a package, the doctor says what it needs`() async throws {
        let end = try await ChildProcess.run(BuiltCommand.agentPath, ["doctor", "--socket", "/nonexistent/s"])
        #expect(end.status != 0 && end.errors.contains("--state, --socket, --service and --ca"), "\(end.errors)")
    }

    @Test func `An activation code is not used up`() async throws {
        let invited = try await CarillonProcess.current.carillon("device", "invite", "--environment", "production")
        let line = try required(invited.objects.first)
        let courier = try required(CarillonProcess.current.ready.production).courier
        try await withAgentFolder { folder in
            chmod(folder, 0o755)
            try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
            try AgentRig.write(try required(line["code"]?.text), to: folder + "/code")
            var arguments = try AgentProcess.arguments(folder).filter { $0 != "--json" }
            arguments =
                try replacing("--service", with: "https://\(courier)", in: arguments) + ["--environment", "production"]
            let report = try await doctor(arguments + ["--code-file", folder + "/code"])
            #expect(report.status == 0 && report.faults == [], "\(report.text)")
            #expect(report[.state]?.state == .warning && report[.identity]?.state == .warning)
            #expect(report[.environment]?.state == .skipped)
            #expect(!FileManager.default.fileExists(atPath: folder + "/state"))
            let id = try required(line["id"]?.text)
            let shown = try await CarillonProcess.current.carillon("device", "invitation", "show", id)
            #expect(shown.status == 0)
            // Without a code there is no way to an identity.
            let none = try await doctor(arguments)
            #expect(none.faults == [.identity] && none.status == 1, "\(none.text)")
            let missing = try await doctor(arguments + ["--code-file", folder + "/nothing"])
            #expect(missing.faults == [.identity] && missing[.identity]?.text.contains("nothing") == true)
        }
    }

    @Test func `Faults of the agent's own files are found`() async throws {
        try await withDevice { folder, arguments in
            chmod(folder + "/state", 0o755)
            #expect(try await doctor(arguments).faults == [.state])
            chmod(folder + "/state", 0o700)
            try AgentRig.write("no database at all", to: folder + "/state/agent.sqlite")
            #expect(try await doctor(arguments).faults == [.state])
            try FileManager.default.removeItem(atPath: folder + "/state/agent.sqlite")
            try AgentRig.write("nothing", to: folder + "/state/identity.pem")
            let identity = try await doctor(arguments)
            #expect(identity.faults == [.identity] && identity.status == 1, "\(identity.text)")
        }
        try await withDevice { folder, arguments in
            let socket = try await doctor(try replacing("--socket", with: folder + "/missing/s", in: arguments))
            #expect(socket.faults == [.socket] && socket[.socket]?.text.contains(folder + "/missing") == true)
            try AgentRig.write("", to: folder + "/s")
            #expect(try await doctor(arguments).faults == [.socket])
            try FileManager.default.removeItem(atPath: folder + "/s")
            try AgentProcess.write("{}", in: folder, as: "broken")
            let manifests = try await doctor(arguments)
            #expect(manifests.faults == [.manifests] && manifests[.manifests]?.text.contains("broken.json") == true)
            try AgentProcess.write(
                #"{"bundleID":"com.example.run","exec":["/nonexistent/run"]}"#, in: folder, as: "broken")
            #expect(try await doctor(arguments).faults == [.manifests])
            let missing = try await doctor(try replacing("--apps", with: folder + "/none", in: arguments))
            #expect(missing.faults == [.manifests])
        }
    }

    @Test func `Faults on the way to the service are found, and what follows is skipped`() async throws {
        try await withDevice { folder, arguments in
            let name = try await doctor(try replacing("--service", with: "https://no-such-name.invalid", in: arguments))
            #expect(name.faults == [.name], "\(name.text)")
            for check in [.port, .certificate, .environment, .clock] as [Finding.Check] {
                #expect(name[check]?.state == .skipped)
            }
            // A port at which nobody listens.
            let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .bind(host: "127.0.0.1", port: 0).get()
            let free = try required(listener.localAddress?.port)
            try await listener.close()
            let port = try await doctor(try replacing("--service", with: "https://127.0.0.1:\(free)", in: arguments))
            #expect(port.faults == [.port], "\(port.text)")
            // A port at which something else listens.
            let other = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { $0.close() }
                .bind(host: "127.0.0.1", port: 0).get()
            let closed = try required(other.localAddress?.port)
            let plain = try await doctor(try replacing("--service", with: "https://127.0.0.1:\(closed)", in: arguments))
            #expect(plain.faults == [.certificate], "\(plain.text)")
            try await other.close()
            // Another authority: any certificate that has not issued the service's.
            let wrong = try await doctor(try replacing("--ca", with: folder + "/state/identity.pem", in: arguments))
            #expect(wrong.faults == [.certificate], "\(wrong.text)")
            let missing = try await doctor(try replacing("--ca", with: folder + "/ca.pem", in: arguments))
            #expect(missing.faults == [.certificate] && missing[.certificate]?.text.contains("/ca.pem") == true)
        }
    }

    @Test func `An identity of the other environment, and a revoked one, are found`() async throws {
        try await withDevice { folder, arguments in
            let courier = try required(CarillonProcess.current.ready.production).courier
            let other = try await doctor(try replacing("--service", with: "https://\(courier)", in: arguments))
            #expect(other.faults == [.environment] && other.status == 1, "\(other.text)")
            let text = try String(contentsOfFile: folder + "/state/identity.pem", encoding: .utf8)
            let device = String(try required(text.firstMatch(of: /Device: ([0-9a-f]+)/)?.1))
            _ = try await CarillonProcess.current.carillon("device", "revoke", device)
            let revoked = try await doctor(arguments)
            #expect(
                revoked.faults == [.identity] && revoked[.identity]?.text.contains(device) == true, "\(revoked.text)")
            #expect(revoked[.environment]?.state == .skipped)
        }
    }

    @Test(.enabled(if: MovedClock.isPossible, "it needs a C compiler"))
    func `A clock that is wrong is found, by a little and by much`() async throws {
        try await withDevice { folder, arguments in
            let clock = try await MovedClock(folder)
            for seconds in [-600, 600] as [Int64] {
                try clock.move(to: seconds)
                let report = try await doctor(arguments, environment: clock.environment)
                #expect(report[.clock]?.state == .warning && report.status == 0, "\(report.text)")
                #expect(report[.clock]?.text.contains("10 minutes") == true, "\(report.text)")
            }
            for days in [-4000, -3, 3, 40, 4000] as [Int64] {
                try clock.move(to: days * 86_400)
                let report = try await doctor(arguments, environment: clock.environment)
                #expect(report[.clock]?.state == .fault && report.status == 1, "\(days): \(report.text)")
            }
        }
    }

    @Test func `A session bus that does not answer is found`() async throws {
        try await withDevice { folder, arguments in
            let bus = ["DBUS_SESSION_BUS_ADDRESS": "unix:path=\(folder)/bus"]
            let report = try await doctor(arguments, environment: bus)
            #expect(report.faults == [.bus] && report.status == 1, "\(report.text)")
            #expect(try await doctor(arguments + ["--no-desktop"], environment: bus).faults == [])
        }
    }

    @Test(.enabled(if: ChildProcess.isInstalled("dbus-daemon"), "it needs dbus-daemon"))
    func `A session bus without a notification service is a warning`() async throws {
        try await withDevice { folder, arguments in
            try await DesktopSession.runBus(folder) { address in
                let report = try await doctor(arguments, environment: ["DBUS_SESSION_BUS_ADDRESS": address])
                #expect(report[.bus]?.state == .warning && report.status == 0, "\(report.text)")
            }
        }
    }

    @Test(.enabled(if: ChildProcess.isInstalled("dbus-daemon"), "it needs dbus-daemon"))
    func `The distributor of UnifiedPush is in the status, and another one is a warning`() async throws {
        try await withDevice { folder, arguments in
            try await DesktopSession.runBus(folder) { address in
                let bus = ["DBUS_SESSION_BUS_ADDRESS": address]
                let distributor = ["--unifiedpush", "com.example.desktop", "--no-desktop"]
                let free = try await doctor(arguments + distributor, environment: bus)
                #expect(free[.bus]?.state == .ok, "\(free.text)")
                #expect(free[.bus]?.text.contains(Distributor.name) == true, "\(free.text)")
                try await AgentProcess.with(folder, distributor, environment: bus) { agent in
                    func shown() async throws -> JSONValue? {
                        try await agent.client.ask(.GET, "/v1/status")["distributor"]
                    }
                    let expected: JSONValue = ["app": "com.example.desktop", "name": "owned", "registrations": 0]
                    try await wait(while: try await shown() != expected)
                    let own = try await doctor(["--socket", agent.socket])
                    #expect(
                        own[.bus]?.state == .ok && own[.bus]?.text.contains(Distributor.name) == true, "\(own.text)")
                    // One that would be started beside it.
                    let second = try replacing("--socket", with: folder + "/other", in: arguments)
                    let warned = try await doctor(second + distributor, environment: bus)
                    #expect(warned[.bus]?.state == .warning && warned.status == 0, "\(warned.text)")
                }
                let gone = ["DBUS_SESSION_BUS_ADDRESS": "unix:path=\(folder)/nobody"]
                #expect(try await doctor(arguments + distributor, environment: gone).faults == [.bus])
            }
        }
    }
}
