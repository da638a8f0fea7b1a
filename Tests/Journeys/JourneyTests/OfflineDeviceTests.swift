import CommonTesting
import Foundation
import Service
import Testing

@testable import ServiceTesting

/// What happens to notifications whose device is offline, even if the service is killed meanwhile (Guide, 2.1.3).
@Suite(.timeLimit(.minutes(3))) struct OfflineDeviceTests {
    private let bundleID = "com.example.app"

    /// Runs a service, kills it with `kill -9`, and runs another one with the same folder.
    private func killed<Result>(
        first: (CarillonProcess) async throws -> Result,
        then second: (CarillonProcess, Result) async throws -> Void,
        by signal: Int32 = SIGKILL,
    ) async throws {
        try await withTemporaryFolder { folder in
            let result = try await CarillonProcess.with(data: folder + "/data") { service in
                let result = try await first(service)
                let finished = await service.stop(signal)
                #expect(finished.status == (signal == SIGKILL ? 128 + SIGKILL : 0))
                return result
            }
            try await CarillonProcess.with(data: folder + "/data") { service in
                try await second(service, result)
            }
        }
    }

    /// A device that is offline, and its token.
    private func device(_ service: CarillonProcess) async throws -> (identity: String, token: String) {
        let identity = try await service.activate()
        return (identity, try await service.register(bundleID, on: identity))
    }

    private func alert(_ line: FoundationJSON) -> String? { line["payload"]?["aps"]?["alert"]?.text }

    @Test func `What was answered 200 survives kill 9`() async throws {
        try await killed { service in
            let device = try await device(service)
            let answer = try await service.send(alert: "Kept", to: device.token)
            #expect(answer.status == 200)
            return (device.identity, answer["apns-id"])
        } then: { service, device in
            let line = try await service.firstNotification(for: device.0)
            #expect(alert(line) == "Kept")
            #expect(line["id"]?.text == device.1)
        }
    }

    @Test func `What an app keeps survives kill 9, and comes in its order`() async throws {
        try await killed { service in
            let kept = try await service.carillon("app", "keep", "5", "--bundle-id", bundleID)
            #expect(kept.status == 0, "\(kept.errors)")
            let device = try await device(service)
            for number in 1...7 {
                #expect(try await service.send(alert: "\(number)", to: device.token).status == 200)
            }
            return device
        } then: { service, device in
            let lines = try await service.notifications(5, for: device.identity)
            #expect(lines.map { alert($0) } == ["3", "4", "5", "6", "7"])
        }
    }

    /// A process can go on writing to deleted files, but their contents are lost when it ends.
    @Test func `Nothing is accepted once the files are deleted`() async throws {
        try await CarillonProcess.with { service in
            let device = try await device(service)
            #expect(try await service.send(alert: "Kept", to: device.token).status == 200)
            for suffix in ["", "-wal", "-shm"] {
                try FileManager.default.removeItem(atPath: service.data + "/carillon.sqlite" + suffix)
            }
            let answer = try await service.send(alert: "Lost", to: device.token)
            #expect(answer.status == 503 && String(decoding: answer.body, as: UTF8.self).contains("ServiceUnavailable"))
            await service.child.errors.wait(for: "The store is not usable")
            #expect(service.child.errors.text.contains("deleted, moved or replaced"))
        }
    }

    @Test func `Registrations and keys survive kill 9`() async throws {
        try await killed { service in
            try await device(service)
        } then: { service, device in
            let token = try await service.register(bundleID, on: device.identity)
            #expect(token == device.token)
            #expect(try await service.send(alert: "After", to: device.token).status == 200)
        }
    }

    @Test func `The restarted service is the same to its clients`() async throws {
        try await killed { service in
            (try Data(contentsOf: URL(fileURLWithPath: service.ready.ca)), try service.developmentKey)
        } then: { service, before in
            let authority = try Data(contentsOf: URL(fileURLWithPath: service.ready.ca))
            let key = try service.developmentKey
            #expect(authority == before.0)
            #expect(key == before.1)
        }
    }

    @Test func `Only the newest of each app is kept`() async throws {
        try await killed { service in
            try await service.createApp("com.example.other", of: try service.developmentKey.teamID)
            let device = try await device(service)
            let other = try await service.register("com.example.other", on: device.identity)
            for text in ["One", "Two", "Three"] {
                #expect(try await service.send(alert: text, to: device.token).status == 200)
            }
            #expect(try await service.send(alert: "Other", to: other, topic: "com.example.other").status == 200)
            return device
        } then: { service, device in
            try await service.listen(as: device.identity) { stream in
                #expect(try await service.send(alert: "Last", to: device.token).status == 200)
                var alerts: [String?] = []
                while alerts.last != "Last" { alerts.append(alert(try await stream.nextNotification())) }
                #expect(Set(alerts) == ["Three", "Other", "Last"])
                #expect(alerts.count == 3)
            }
        }
    }

    @Test func `Expiration 0 is not kept`() async throws {
        try await CarillonProcess.with { service in
            let device = try await device(service)
            let answer = try await service.send(
                alert: "Now or never", to: device.token, headers: [("apns-expiration", "0")])
            #expect(answer.status == 200)
            try await service.listen(as: device.identity) { stream in
                #expect(try await service.send(alert: "Next", to: device.token).status == 200)
                try await stream.expectNext(alert: "Next")
            }
        }
    }

    @Test func `Expiration 0 reaches a device that is online`() async throws {
        try await CarillonProcess.with { service in
            let device = try await device(service)
            try await service.listen(as: device.identity) { stream in
                let answer = try await service.send(
                    alert: "Now", to: device.token, headers: [("apns-expiration", "0")])
                #expect(answer.status == 200)
                let line = try await stream.nextNotification()
                #expect(alert(line) == "Now")
                #expect(line["expiration"] == 0)
            }
        }
    }

    @Test func `What has expired is not delivered`() async throws {
        try await CarillonProcess.with { service in
            let device = try await device(service)
            let answer = try await service.send(
                alert: "Past", to: device.token, headers: [("apns-expiration", "\(Provider.now - 10)")])
            #expect(answer.status == 200)
            try await service.listen(as: device.identity) { stream in
                #expect(try await service.send(alert: "Next", to: device.token).status == 200)
                try await stream.expectNext(alert: "Next")
            }
        }
    }

    @Test func `What was acknowledged is gone after a restart`() async throws {
        try await killed(
            first: { service in
                let device = try await device(service)
                #expect(try await service.send(alert: "Once", to: device.token).status == 200)
                try await service.listen(as: device.identity) { stream in
                    let line = try await stream.nextNotification()
                    #expect(alert(line) == "Once")
                    #expect(try await service.acknowledge(line, as: device.identity).status == 204)
                }
                return device
            },
            then: { service, device in
                try await service.listen(as: device.identity) { stream in
                    #expect(try await service.send(alert: "Next", to: device.token).status == 200)
                    try await stream.expectNext(alert: "Next")
                }
            },
            by: SIGTERM)
    }

    @Test func `What a device got and did not acknowledge survives kill 9`() async throws {
        try await killed { service in
            let device = try await device(service)
            try await service.listen(as: device.identity) { stream in
                // The service answers when the notification is stored, because the device does not acknowledge it.
                #expect(try await service.send(alert: "Pending", to: device.token).status == 200)
                try await stream.expectNext(alert: "Pending")
            }
            return device
        } then: { service, device in
            try await service.listen(as: device.identity) { try await $0.expectNext(alert: "Pending") }
        }
    }
}
