import CommonTesting
import Foundation
import HTTPAPIClient
import Notifications
import Testing

@testable import DeviceAgent
@testable import ServiceTesting

/// How the agent gets its identity, and what it does if the service refuses it.
@Suite(.service(), .startsPrograms, .timeLimit(.minutes(3))) struct AgentIdentityTests {
    private let app = "/v1/apps/com.example.app"

    private func invite(_ environment: String) async throws -> (code: String, id: String) {
        let invited = try await CarillonProcess.current.carillon("device", "invite", "--environment", environment)
        let line = try required(invited.objects.first)
        return (try required(line["code"]?.text), try required(line["id"]?.text))
    }

    /// Waits until an activation code was used up.
    private func waitForUse(of id: String) async throws { try await wait(while: try await isUnused(id)) }

    private func isUnused(_ id: String) async throws -> Bool {
        let shown = try await CarillonProcess.current.carillon("device", "invitation", "show", id)
        guard shown.status != 0 else { return true }
        // Any other failure says nothing about the code.
        guard shown.errors.contains("There is no device invitation \(id)") else {
            throw UnexpectedOutput(description: shown.errors)
        }
        return false
    }

    private func production(_ folder: String) throws -> [String] {
        let courier = try required(CarillonProcess.current.ready.production).courier
        return ["--service", "https://\(courier)", "--environment", "production", "--code-file", folder + "/code"]
    }

    private func status(_ agent: AgentProcess, while isEarly: (JSONValue) -> Bool) async throws -> JSONValue {
        while true {
            let status = try await agent.client.ask(.GET, "/v1/status")
            if !isEarly(status) { return status }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    @Test func `A code whose answer was lost activates the same agent after a kill, and no other one`() async throws {
        let (code, id) = try await invite("production")
        let courier = try required(CarillonProcess.current.ready.production).courier
        let port = try required(courier.split(separator: ":").last.flatMap { Int($0) })
        try await withAgentFolder { folder in
            try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
            try AgentRig.write(code + "\n", to: folder + "/code")
            let key = folder + "/state/activation.key"
            var kept = ""
            try await LostAnswers.with(to: port) { lost in
                let arguments =
                    try AgentProcess.arguments(folder) + production(folder) + [
                        "--service", "https://127.0.0.1:\(lost.port)",
                    ]
                try await ChildProcess.with(BuiltCommand.agentPath, arguments) { agent in
                    try await waitForUse(of: id)
                    kept = try String(contentsOfFile: key, encoding: .utf8)
                    agent.signal(SIGKILL)
                    _ = await agent.finished()
                }
            }
            let attributes = try FileManager.default.attributesOfItem(atPath: key)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            try await withAgentFolder { other in
                try AgentRig.write(code + "\n", to: other + "/code")
                try await AgentProcess.with(other, production(other)) { agent in
                    await agent.child.errors.wait(for: "unknown, used")
                }
            }
            try await AgentProcess.with(folder, production(folder)) { agent in
                let identity = try String(contentsOfFile: folder + "/state/identity.pem", encoding: .utf8)
                #expect(identity.contains(kept.trimmingCharacters(in: .whitespacesAndNewlines)))
                #expect(identity.contains(agent.deviceID))
                #expect(!FileManager.default.fileExists(atPath: key))
                _ = try await agent.client.ask(.PUT, app, nil)
            }
        }
    }

    @Test func `An agent whose first code is refused stays and says so, and activates with another code`() async throws
    {
        let (code, _) = try await invite("production")
        try await withAgentFolder { folder in
            try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
            // Nothing but the end of a line is what the package has if there is no file.
            for wrong in ["\n", "aaaa-bbbb-cccc-dddd\n"] {
                try AgentRig.write(wrong, to: folder + "/code")
                try await AgentProcess.with(folder, production(folder)) { agent in
                    #expect(agent.deviceID == "")
                    await agent.child.errors.wait(for: "The service refuses the activation code")
                    let status = try await status(agent) { $0["connection"] != "ended" }
                    #expect(status["cause"]?.string?.contains("code") == true, "\(status)")
                    #expect(status["deviceID"] == nil && status["environment"] == "production")
                    let refused = await #expect(throws: AgentRig.Refused.self) {
                        try await agent.client.ask(.PUT, app, nil)
                    }
                    #expect(refused?.status == 409, "\(String(describing: refused))")
                    let text = try await BuiltCommand.run(["device", "agent", "status", "--socket", agent.socket])
                    #expect(text.output.contains("without an identity"), "\(text.output)")
                    let doctor = try await BuiltCommand.run(["device", "agent", "doctor", "--socket", agent.socket])
                    #expect(doctor.status != 0 && doctor.output.contains("fault identity"), "\(doctor.output)")
                    agent.child.signal(SIGTERM)
                    let end = await agent.child.finished()
                    #expect(end.status == 0)
                    #expect(end.errors.components(separatedBy: "refuses the activation code").count == 2)
                }
            }
            try AgentRig.write("\u{feff}" + code + "\r\n", to: folder + "/code")
            try await AgentProcess.with(folder, production(folder)) { agent in
                _ = try await status(agent) { $0["connection"] != "connected" }
                _ = try await agent.client.ask(.PUT, app, nil)
                #expect(!FileManager.default.fileExists(atPath: folder + "/state/code.refused"))
            }
        }
    }

    @Test func `Kills at any time of an activation use up one code, for one device`() async throws {
        let (code, _) = try await invite("production")
        try await withAgentFolder { folder in
            try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
            try AgentRig.write(code + "\n", to: folder + "/code")
            let own = folder + "/state/identity.pem"
            var delay = Duration.milliseconds(40)
            while !FileManager.default.fileExists(atPath: own) {
                let arguments = try AgentProcess.arguments(folder) + production(folder)
                try await ChildProcess.with(BuiltCommand.agentPath, arguments) { agent in
                    try await Task.sleep(for: delay)
                    agent.signal(SIGKILL)
                    let end = await agent.finished()
                    #expect(!end.errors.contains("cannot be activated:"), "\(end.errors)")
                }
                delay += .milliseconds(15)
            }
            try await AgentProcess.with(folder, production(folder)) { agent in
                _ = try await agent.client.ask(.PUT, app, nil)
            }
        }
    }

    @Test func `An identity of the other environment is reported and not tried again, until there is a code`()
        async throws
    {
        let identity = try await CarillonProcess.current.activate()
        let (code, _) = try await invite("production")
        try await withAgentFolder { folder in
            try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
            let courier = try required(CarillonProcess.current.ready.production).courier
            let wrong = ["--service", "https://\(courier)", "--identity", identity]
            var device = ""
            try await AgentProcess.with(folder, wrong) { agent in
                device = agent.deviceID
                await agent.child.errors.wait(for: "The service refuses the device's identity")
                let status = try await status(agent) { $0["connection"] != "ended" }
                #expect(status["cause"]?.string?.contains("BadCertificateEnvironment") == true, "\(status)")
                #expect(status["cause"]?.string?.contains("development environment") == true, "\(status)")
                let refused = await #expect(throws: AgentRig.Refused.self) {
                    try await agent.client.ask(.PUT, app, nil)
                }
                #expect(refused?.status == 409 && refused?.detail.contains("BadCertificateEnvironment") == true)
                let text = try await BuiltCommand.run(["device", "agent", "status", "--socket", agent.socket])
                #expect(text.output.contains("BadCertificateEnvironment"))
                #expect(!agent.child.errors.text.contains("Disconnected from the service"))
                agent.child.signal(SIGTERM)
                #expect(await agent.child.finished().status == 0)
            }
            try AgentRig.write(code, to: folder + "/code")
            try await AgentProcess.with(folder, production(folder)) { agent in
                let status = try await status(agent) { $0["connection"] != "connected" }
                #expect(status["environment"] == "production" && status["deviceID"]?.string != device)
                _ = try await agent.client.ask(.PUT, app, nil)
            }
        }
    }

    @Test func `A revoked agent stays, and activates again with another code, but not with the same one`() async throws
    {
        let (first, second) = (try await invite("development"), try await invite("development"))
        try await withAgentFolder { folder in
            try AgentProcess.write(#"{"bundleID":"com.example.app"}"#, in: folder)
            try AgentRig.write(first.code, to: folder + "/code")
            let more = ["--code-file", folder + "/code"]
            var (device, token) = ("", "")
            try await AgentProcess.with(folder, more) { agent in
                device = agent.deviceID
                token = try required(try await agent.client.ask(.PUT, app, nil)["token"]?.string)
                let revoked = try await CarillonProcess.current.carillon("device", "revoke", device)
                #expect(revoked.status == 0, "\(revoked.errors)")
                await agent.child.errors.wait(for: "The service refuses the device's identity")
                _ = try await status(agent) { $0["connection"] != "ended" }
                // An app that is known starts, as without a network.
                #expect(try await agent.client.ask(.PUT, app, nil)["token"]?.string == token)
            }
            try await AgentProcess.with(folder, more) { agent in
                let status = try await status(agent) { $0["connection"] != "ended" }
                #expect(status["deviceID"]?.string == device)
            }
            // A good identity would not be replaced by it.
            try AgentRig.write(second.code, to: folder + "/code")
            try await AgentProcess.with(folder, more) { agent in
                let status = try await status(agent) { $0["connection"] != "connected" }
                #expect(status["deviceID"]?.string != device)
                let stream = EventReader(agent.client, app + "/events")
                let event = try await stream.next()[0]
                #expect(event["event"] == "registered" && event["token"]?.string != token)
            }
            let third = try await invite("development")
            try AgentRig.write(third.code, to: folder + "/code")
            try await AgentProcess.with(folder, more) { agent in
                _ = try await status(agent) { $0["connection"] != "connected" }
                let shown = try await CarillonProcess.current.carillon("device", "invitation", "show", third.id)
                #expect(shown.status == 0)
            }
        }
    }
}
