import Foundation
import Management
import NIOHTTP1
import Notifications
import Testing

@testable import Service
@testable import ServiceTesting

/// `GET /v1/devices`, over real TLS.
@Suite(.timeLimit(.minutes(2)))
struct DeviceListTests {
    private func headers(_ method: String, _ path: String, _ more: (String, String)...) -> [(String, String)] {
        [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)] + more
    }

    private func register(_ client: WireClient) async throws -> String {
        let answer = try await client.send(headers("PUT", "/1/apps/com.example.app"), body: "")
        return try required(answer.body.split(separator: "\"").dropFirst(3).first.map(String.init))
    }

    private func push(_ token: String, _ test: TestService, _ more: (String, String)...) async throws {
        let client = try await test.connectProvider()
        let headers = ProviderHeaders(token, token: try test.providerToken())
        #expect(try await client.send(headers.fields + more).status == 200)
        await client.close()
    }

    private func list(_ test: TestService, _ query: String = "") async throws -> [ManagementMessages.Device] {
        let answer = try await test.ask("GET", "/v1/devices" + query)
        #expect(answer.status == 200, "\(answer.text)")
        return try JSONDecoder().decode([ManagementMessages.Device].self, from: answer.body)
    }

    @Test(arguments: [StoreChoice.sqlite, .memory])
    func `A device is listed with its connection, its power, its token and its waiting notifications`(
        store: StoreChoice
    ) async throws {
        try await TestService.run {
            $0.store = store
        } _: { test in
            let certificate = try await test.makeDeviceCertificate()
            let device = try await test.connectCourier(certificate)
            let id = try await test.deviceID(of: certificate)
            // A device that was activated but has no app is not known to the service.
            #expect(try await list(test).isEmpty)
            let token = try await register(device)
            try await push(token, test)
            let waiting = try required(try await list(test).first)
            #expect(waiting.deviceID == id && waiting.environment == "development" && !waiting.virtual)
            #expect(!waiting.connected && waiting.since == nil && waiting.power == nil)
            #expect(waiting.apps.map(\.bundleID) == ["com.example.app"])
            #expect(waiting.apps.map(\.token) == [token] && waiting.apps.map(\.waiting) == [1])

            let before = UInt64(Date().timeIntervalSince1970 * 1000)
            let stream = try await device.open(headers("GET", "/1/notifications"), endStream: true)
            #expect(try await stream.nextLine()?.contains("Hello") == true)
            let low = try await device.send(headers("POST", "/1/state"), body: #"{"power":"low"}"#)
            #expect(low.status == 204)
            // The first notification is not acknowledged, so it is in the mailbox. Two more are held back for the
            // device's power.
            try await push(token, test, ("apns-priority", "5"))
            try await push(token, test, ("apns-priority", "5"))
            let connected = try await list(test)
            #expect(connected.count == 1)
            let now = try required(connected.first)
            #expect(now.connected && now.power == "low" && now.apps.map(\.waiting) == [2])
            let since = try required(now.since)
            #expect(since >= before && since <= UInt64(Date().timeIntervalSince1970 * 1000))
            await device.close()
        }
    }

    @Test func `A device is listed with the software that it reports, and with the time when it was last seen`()
        async throws
    {
        try await TestService.run { test in
            let device = try await test.connectCourier(try await test.makeDeviceCertificate())
            _ = try await register(device)
            let unseen = try required(try await list(test).first)
            #expect(unseen.software == nil && unseen.lastSeen == nil)
            func report(_ body: String) async throws {
                #expect(try await device.send(headers("POST", "/1/state"), body: body).status == 204)
            }
            let before = UInt64(Date().timeIntervalSince1970 * 1000)
            try await report(#"{"power":"awake","software":"kiosk 1.2"}"#)
            // Neither says anything of the software that could be shown.
            try await report(#"{"power":"low","software":"two\nlines"}"#)
            try await report(#"{"power":"awake","software":"\#(String(repeating: "x", count: 101))"}"#)
            // The stream has ended when the next request is answered.
            try await device.openAndReset(headers("GET", "/1/notifications"), times: 1)
            _ = try await register(device)
            let gone = try required(try await list(test).first)
            #expect(!gone.connected && gone.software == "kiosk 1.2")
            let seen = try required(gone.lastSeen)
            #expect(seen >= before && seen <= UInt64(Date().timeIntervalSince1970 * 1000))
            let stream = try await device.open(headers("GET", "/1/notifications"), endStream: true)
            let now = try required(try await list(test).first)
            #expect(now.connected && now.software == "kiosk 1.2" && now.lastSeen == nil)
            _ = stream
            await device.close()
        }
    }

    @Test func `A device whose apps were removed, or that was revoked, is not listed`() async throws {
        try await TestService.run { test in
            var ids: [String] = []
            for _ in 0..<3 {
                let certificate = try await test.makeDeviceCertificate()
                let device = try await test.connectCourier(certificate)
                _ = try await register(device)
                ids.append(try await test.deviceID(of: certificate))
                if ids.count == 1 {
                    #expect(try await device.send(headers("DELETE", "/1/apps/com.example.app"), body: "").status == 200)
                }
                await device.close()
            }
            #expect(try await list(test).map(\.deviceID) == ids.dropFirst().sorted())
            #expect(try await test.ask("DELETE", "/v1/devices/\(ids[1])").status == 200)
            #expect(try await list(test).map(\.deviceID) == [ids[2]])
            // Devices that the list leaves out do not end it early.
            let page = try await test.ask("GET", "/v1/devices?limit=1")
            #expect(page.headers["link"].isEmpty && page.text.contains(ids[2]))
        }
    }

    @Test func `Pages list every device once, real and virtual ones in the same order`() async throws {
        try await TestService.run { test in
            var ids: Set<String> = []
            for _ in 0..<3 {
                let certificate = try await test.makeDeviceCertificate()
                let device = try await test.connectCourier(certificate)
                _ = try await register(device)
                ids.insert(try await test.deviceID(of: certificate))
                await device.close()
            }
            let made = try await test.ask(
                "POST", "/v1/fixtures",
                body: #"{"teams":[{"teamID":"ABCDE12345","apps":["a.b"],"devices":[{"name":"a"},{"name":"b"}]}]}"#)
            #expect(made.status == 200, "\(made.text)")
            let all = try await list(test)
            #expect(all.count == 5 && all.filter(\.virtual).count == 2)
            #expect(ids.isSubset(of: all.map(\.deviceID)))
            #expect(all.map(\.deviceID) == all.map(\.deviceID).sorted())
            var (path, seen): (String?, [String]) = ("/v1/devices?limit=2", [])
            while let next = path {
                let page = try await test.ask("GET", next)
                let devices = try JSONDecoder().decode([ManagementMessages.Device].self, from: page.body)
                #expect(devices.count <= 2)
                seen += devices.map(\.deviceID)
                path = page.headers["link"].first?.split(whereSeparator: { "<>".contains($0) }).first.map(String.init)
            }
            #expect(seen == all.map(\.deviceID))
            #expect(try await test.ask("GET", "/v1/devices?after=x").status == 400)
        }
    }

    @Test func `Devices are also listed if the service has no virtual ones`() async throws {
        try await TestService.run(environment: .production) {
            $0.environments = [.production]
        } _: { test in
            // In production a device needs an activation code.
            let token = try await test.makeDeviceToken()
            #expect(try await list(test).flatMap(\.apps).map(\.token) == [token])
            #expect(try await list(test).map(\.environment) == ["production"])
        }
    }
}
