import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// Priorities and silent notifications, over the wire (Guide, Table 8-2 and 2.2.2; docs/device-protocol.md).
@Suite(.timeLimit(.minutes(3))) struct DevicePowerJourneyTests {
    private static let bundleID = "com.example.app"

    private func device(_ service: CarillonProcess) async throws -> (identity: String, token: String) {
        let identity = try await service.activate()
        return (identity, try await service.register(Self.bundleID, on: identity))
    }

    /// Sends a notification, and expects a 200.
    private func send(
        _ service: CarillonProcess,
        _ alert: String,
        to token: String,
        priority: Int,
    ) async throws {
        let answer = try await service.send(
            alert: alert, to: token, headers: [("apns-priority", "\(priority)")])
        #expect(answer.status == 200)
    }

    private func sendSilent(_ service: CarillonProcess, _ number: Int, to token: String) async throws {
        var push = try WirePush(token: token, topic: Self.bundleID, from: service.developmentProvider)
        push.payload(#"{"aps":{"content-available":1},"number":\#(number)}"#)
        #expect(try await service.send(push).status == 200)
    }

    private func setPower(_ power: String, of identity: String, _ service: CarillonProcess) async throws {
        let answer = try await service.device("POST", "/1/state", as: identity, body: #"{"power":"\#(power)"}"#)
        #expect(answer.status == 204)
    }

    /// Sends a notification to a device with low power, and expects that the service holds it back.
    private func sendHeld(_ service: CarillonProcess, to token: String, priority: Int) async throws {
        try await send(service, "Held", to: token, priority: priority)
        let log = try await service.carillon("log")
        #expect(try log.objects.contains { $0["event"] == "deferred" }, "\(log.output)")
    }

    @Test(arguments: [5, 1]) func `Goes along with priority 10`(priority: Int) async throws {
        // Bursts are so rare that only the notification of priority 10 can cause the other one to be sent.
        try await CarillonProcess.with(environment: ["CARILLON_LIMIT_BURST_INTERVAL": "3600"]) { service in
            let device = try await device(service)
            try await service.listen(as: device.identity) { stream in
                try await setPower("low", of: device.identity, service)
                try await sendHeld(service, to: device.token, priority: priority)
                try await send(service, "Now", to: device.token, priority: 10)
                try await stream.expectNext(alert: "Held")
                try await stream.expectNext(alert: "Now")
            }
        }
    }

    @Test func `Priority 5 waits for a burst`() async throws {
        let environment = ["CARILLON_LIMIT_BURST_INTERVAL": "3600", "CARILLON_CLOCK": "virtual"]
        try await CarillonProcess.with(environment: environment) { service in
            let device = try await device(service)
            try await service.listen(as: device.identity) { stream in
                try await setPower("low", of: device.identity, service)
                try await sendHeld(service, to: device.token, priority: 5)
                let advanced = try await service.carillon("clock", "advance", "PT1H")
                #expect(advanced.status == 0, "\(advanced.errors)")
                try await stream.expectNext(alert: "Held")
            }
        }
    }

    @Test(arguments: ["awake", "charging"]) func `Comes when the device says so`(power: String) async throws {
        try await CarillonProcess.with(environment: ["CARILLON_LIMIT_BURST_INTERVAL": "3600"]) { service in
            let device = try await device(service)
            try await service.listen(as: device.identity) { stream in
                try await setPower("low", of: device.identity, service)
                try await sendHeld(service, to: device.token, priority: 1)
                try await setPower(power, of: device.identity, service)
                try await stream.expectNext(alert: "Held")
                // From then on notifications are sent at once.
                try await send(service, "At once", to: device.token, priority: 5)
                try await stream.expectNext(alert: "At once")
            }
        }
    }

    @Test func `Silent notifications are throttled`() async throws {
        let environment = ["CARILLON_LIMIT_SILENT_BURST": "2"]
        try await CarillonProcess.with(environment: environment) { service in
            let device = try await device(service)
            try await service.listen(as: device.identity) { stream in
                try await setPower("awake", of: device.identity, service)
                for number in 1...4 { try await sendSilent(service, number, to: device.token) }
                try await send(service, "After", to: device.token, priority: 10)
                let first = try await stream.nextNotification()
                let second = try await stream.nextNotification()
                #expect([first, second].map { $0["payload"]?["number"] } == [1, 2])
                // This notification replaced the one that waited.
                try await stream.expectNext(alert: "After")
            }
            let log = try await service.carillon("log")
            let events = try log.objects.compactMap { $0["event"]?.text }
            #expect(events.contains("throttled"))
        }
    }

    // MARK: The command

    private func listen(
        _ service: CarillonProcess, _ identity: String, _ options: [String] = [],
        _ body: (ChildProcess) async throws -> Void,
    ) async throws {
        let arguments = service.arguments("device", "listen", "--identity", identity) + options
        try await ChildProcess.with(BuiltCommand.path, arguments, body)
    }

    private func alert(_ child: ChildProcess) async throws -> String? {
        let line = try FoundationJSON(await child.output.nextLine().orThrow("listen ended: \(child.errors.text)"))
        return line["payload"]?["aps"]?["alert"]?.text
    }

    @Test func `Device power tells a listener that runs`() async throws {
        try await CarillonProcess.with(environment: ["CARILLON_LIMIT_BURST_INTERVAL": "3600"]) { service in
            let device = try await device(service)
            try await listen(service, device.identity, ["--power", "low"]) { child in
                try await send(service, "First", to: device.token, priority: 10)
                #expect(try await alert(child) == "First")
                try await send(service, "Held", to: device.token, priority: 5)
                let said = try await service.carillon("device", "power", "--identity", device.identity, "charging")
                #expect(said.status == 0, "\(said.errors)")
                #expect(try said.object["power"] == "charging")
                #expect(try await alert(child) == "Held")
                // The command did not take the stream from the listener, and priority 5 is no longer delayed.
                try await send(service, "At once", to: device.token, priority: 5)
                #expect(try await alert(child) == "At once")
            }
            // A later `device listen` reports its power state again.
            try await listen(service, device.identity) { child in
                try await send(service, "First", to: device.token, priority: 10)
                #expect(try await alert(child) == "First")
                try await send(service, "At once again", to: device.token, priority: 5)
                #expect(try await alert(child) == "At once again")
            }
        }
    }

    @Test func `A fleet says its power`() async throws {
        try await CarillonProcess.with(environment: ["CARILLON_LIMIT_BURST_INTERVAL": "3600"]) { service in
            try await withTemporaryFolder { folder in
                let arguments =
                    service.arguments("device", "fleet", "--bundle-id", Self.bundleID, "--count", "2")
                    + ["--power", "awake", "--interval", "0.1", "--tokens", folder + "/tokens"]
                try await ChildProcess.with(BuiltCommand.path, arguments) { child in
                    _ = await child.output.nextLine()
                    let tokens = try String(contentsOfFile: folder + "/tokens", encoding: .utf8)
                        .split(separator: "\n").map(String.init)
                    for token in tokens { try await send(service, "Hello", to: token, priority: 10) }
                    for token in tokens { try await send(service, "At once", to: token, priority: 5) }
                    while let line = await child.output.nextLine() {
                        if try FoundationJSON(line)["acknowledged"] == 4 { break }
                    }
                    child.signal(SIGTERM)
                    #expect(await child.finished().status == 0)
                }
            }
        }
    }

    @Test func `A power that is none is refused`() async throws {
        let finished = try await BuiltCommand.run(["device", "power", "--identity", "a", "full"])
        #expect(finished.status == 64 && finished.errors.contains("full"))
    }
}
