import APNSDevice
import CommonTesting
import Foundation
import HTTPAPIClient
import NIOHTTP1
import Notifications
import Testing

@testable import DeviceAgent
@testable import ServiceTesting

/// What happens while the agent asks the service about an app.
@Suite(.timeLimit(.minutes(2))) struct AgentRegistrationTests {
    /// Runs an agent with an app that has registered before. The agent reaches the service when the gate is open.
    private func run(_ body: (AgentRig, Gate) async throws -> Void) async throws {
        try await TestService.run { service in
            try await withAgentFolder { folder in
                try await AgentRig.run(on: service, folder: folder) { rig in try await rig.register() }
                try await Gate.with(to: try service.courier.port) { gate in
                    try await AgentRig.run(on: service, folder: folder, courierPort: gate.port) { rig in
                        // Before that, the agent refuses what the service has to be asked for.
                        try await wait(while: await rig.agent.device == nil)
                        try await body(rig, gate)
                    }
                }
            }
        }
    }

    @Test func `Settings that the user changes while an app registers stay`() async throws {
        try await run { rig, gate in
            async let registered = rig.register(["services": ["voip"]])
            try await wait(while: await rig.agent.asking[rig.bundleID] == nil)
            _ = try await rig.client.ask(.PUT, rig.path + "/settings", ["alerts": "off"])
            gate.open()
            _ = try await registered
            let settings = try await rig.client.ask(.GET, "/v1/settings")
            #expect(settings["apps"]?[rig.bundleID]?["alerts"] == "off")
        }
    }

    @Test func `Of two registrations at once, the later one's channels are subscribed to, and no others`() async throws
    {
        try await run { rig, gate in
            let channels = [try await rig.service.makeChannel(), try await rig.service.makeChannel()]
            async let first = rig.register(["channels": [.string(channels[0])]])
            try await wait(while: await rig.agent.asking[rig.bundleID] == nil)
            async let second = rig.register(["channels": [.string(channels[1])]])
            try await wait(while: await rig.agent.asking[rig.bundleID]?.isEmpty != false)
            gate.open()
            _ = try await (first, second)
            let device = try await rig.service.ask("GET", "/v1/devices/\(rig.agent.identity?.deviceID ?? "")")
            let subscribed = device.problem?["channels"] as? [String: [String]]
            #expect(subscribed == [rig.bundleID: [channels[1]]], "\(device.text)")
        }
    }

    @Test func `A registration that is as before also waits for an earlier one that is not`() async throws {
        try await run { rig, gate in
            let channel = try await rig.service.makeChannel()
            async let first = rig.register(["channels": [.string(channel)]])
            try await wait(while: await rig.agent.asking[rig.bundleID] == nil)
            async let second = rig.register()
            try await wait(while: await rig.agent.asking[rig.bundleID]?.isEmpty != false)
            gate.open()
            _ = try await (first, second)
            #expect(await rig.agent.records[rig.bundleID]?.registration.channels == nil)
        }
    }

    @Test func `A registration that is cancelled stops waiting, and the next one gets the turn`() async throws {
        try await run { rig, _ in
            let agent = rig.agent
            let id = rig.bundleID
            #expect(await agent.takeTurn(of: id))
            let cancelled = Task { try await agent.registerInTurn(id, AppRegistration(services: ["voip"])) }
            try await wait(while: await agent.asking[id]?.count != 1)
            let next = Task { await agent.takeTurn(of: id) }
            try await wait(while: await agent.asking[id]?.count != 2)
            cancelled.cancel()
            await #expect(throws: AgentError.self) { try await cancelled.value }
            #expect(await agent.asking[id]?.count == 1)
            await agent.endTurn(of: id)
            #expect(await next.value)
            await agent.endTurn(of: id)
            #expect(await agent.asking[id] == nil)
        }
    }

    @Test func `A registration that is cancelled subscribes to no channels`() async throws {
        try await run { rig, gate in
            let registration = AppRegistration(channels: [try await rig.service.makeChannel()])
            let cancelled = Task { try await rig.agent.registerInTurn(rig.bundleID, registration) }
            try await wait(while: await rig.agent.asking[rig.bundleID] == nil)
            cancelled.cancel()
            gate.open()
            await #expect(throws: AgentError.self) { try await cancelled.value }
            let device = try await rig.service.ask("GET", "/v1/devices/\(rig.agent.identity?.deviceID ?? "")")
            let subscribed = device.problem?["channels"] as? [String: [String]]
            #expect(subscribed?[rig.bundleID] == nil, "\(device.text)")
        }
    }

    @Test func `An app that is removed while it registers does not come back`() async throws {
        try await run { rig, gate in
            let registration = AppRegistration(services: ["voip"])
            let registering = Task { try await rig.agent.registerInTurn(rig.bundleID, registration) }
            try await wait(while: await rig.agent.asking[rig.bundleID] == nil)
            _ = try await rig.client.ask(.DELETE, rig.path)
            gate.open()
            let refused = await #expect(throws: AgentError.self) { try await registering.value }
            #expect(refused?.code == .refused)
            #expect(await rig.agent.records.isEmpty)
        }
    }
}
