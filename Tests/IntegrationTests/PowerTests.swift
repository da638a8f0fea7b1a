import Foundation
import Testing

/// Priorities and silent notifications, over the wire (Guide, Table 8-2 and 2.2.2; docs/device-protocol.md).
@Suite(.timeLimit(.minutes(3))) struct PowerTests {
    private static let bundleID = "com.example.app"

    private func device(_ service: CarillonProcess) async throws -> (identity: String, token: String) {
        let identity = try await service.activate()
        return (identity, try await service.register(Self.bundleID, on: identity))
    }

    /// Sends and expects a 200.
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
        var push = try Push(token: token, topic: Self.bundleID, from: service.developmentProvider)
        push.payload(#"{"aps":{"content-available":1},"number":\#(number)}"#)
        #expect(try await service.send(push).status == 200)
    }

    @Test(arguments: [5, 1]) func goesAlongWithPriority10(priority: Int) async throws {
        // Only company can bring it within the test.
        try await CarillonProcess.with(environment: ["CARILLON_LIMIT_BURST_INTERVAL": "3600"]) { service in
            let device = try await device(service)
            try await service.listen(as: device.identity) { stream in
                try await send(service, "First", to: device.token, priority: 10)
                try await stream.expectNext(alert: "First")
                try await send(service, "Held", to: device.token, priority: priority)
                try await send(service, "Now", to: device.token, priority: 10)
                try await stream.expectNext(alert: "Held")
                try await stream.expectNext(alert: "Now")
            }
        }
    }

    @Test func priority5ComesInABurst() async throws {
        try await CarillonProcess.with(environment: ["CARILLON_LIMIT_BURST_INTERVAL": "1"]) { service in
            let device = try await device(service)
            try await service.listen(as: device.identity) { stream in
                try await send(service, "First", to: device.token, priority: 10)
                try await stream.expectNext(alert: "First")
                try await send(service, "Held", to: device.token, priority: 5)
                try await stream.expectNext(alert: "Held")
            }
        }
    }

    @Test(arguments: ["awake", "charging"]) func comesWhenTheDeviceSaysSo(power: String) async throws {
        try await CarillonProcess.with(environment: ["CARILLON_LIMIT_BURST_INTERVAL": "3600"]) { service in
            let device = try await device(service)
            try await service.listen(as: device.identity) { stream in
                try await send(service, "First", to: device.token, priority: 10)
                try await stream.expectNext(alert: "First")
                try await send(service, "Held", to: device.token, priority: 1)
                let answer = try await service.device(
                    "POST", "/1/state", as: device.identity, body: #"{"power":"\#(power)"}"#)
                #expect(answer.status == 204)
                try await stream.expectNext(alert: "Held")
                // And from then on at once.
                try await send(service, "At once", to: device.token, priority: 5)
                try await stream.expectNext(alert: "At once")
            }
        }
    }

    @Test func silentNotificationsAreThrottled() async throws {
        let environment = ["CARILLON_LIMIT_SILENT_BURST": "2"]
        try await CarillonProcess.with(environment: environment) { service in
            let device = try await device(service)
            try await service.listen(as: device.identity) { stream in
                let answer = try await service.device(
                    "POST", "/1/state", as: device.identity, body: #"{"power":"awake"}"#)
                #expect(answer.status == 204)
                for number in 1...4 { try await sendSilent(service, number, to: device.token) }
                try await send(service, "After", to: device.token, priority: 10)
                let first = try await stream.nextNotification()
                let second = try await stream.nextNotification()
                #expect([first, second].map { $0["payload"]?["number"] } == [1, 2])
                // It took the place of what was waiting.
                try await stream.expectNext(alert: "After")
            }
            let log = try await service.carillon("log")
            let events = try log.objects.compactMap { $0["event"]?.text }
            #expect(events.contains("throttled"))
        }
    }
}
