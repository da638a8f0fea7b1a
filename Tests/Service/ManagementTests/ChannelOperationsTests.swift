import CommonTesting
import Delivery
import Foundation
import Management
import NIOHTTP1
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// `/v1/channels` of the management API.
@Suite(.timeLimit(.minutes(2)))
struct ChannelOperationsTests {
    private typealias Channel = ManagementMessages.Channel

    private static func list(_ test: TestService, _ query: String) async throws -> ([Channel], next: String?) {
        let answer = try await test.ask("GET", "/v1/channels?bundleID=com.example.app\(query)")
        #expect(answer.status == 200, "\(answer.text)")
        let next = answer.headers["link"].first.flatMap { $0.firstMatch(of: /<(.+)>; rel="next"/).map { String($0.1) } }
        return (try JSONDecoder().decode([Channel].self, from: answer.body), next)
    }

    @Test func `A channel is made, shown, used by providers and deleted`() async throws {
        try await TestService.run { test in
            let made: Channel = try await test.administer(
                "POST", "/v1/channels",
                ManagementMessages.NewChannel(bundleID: test.bundleID, messageStoragePolicy: 1))
            #expect(made.bundleID == test.bundleID)
            #expect(made.environment == "development")
            #expect(made.messageStoragePolicy == 1)
            let channels = try await test.connectChannels()
            let read = try await channels.send(
                ChannelHeaders("GET", token: try test.providerToken(), channel: made.channelID).fields, body: "")
            #expect(read.body == #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
            let device = try await test.connectRegistered().client
            _ = try await device.listen()
            #expect(try await device.subscribe(to: made.channelID).status == 204)
            try await test.waitForSubscribers(1, of: made.channelID)
            let path = "/v1/channels/\(made.channelID)?bundleID=\(test.bundleID)"
            let shown: Channel = try await test.administer("GET", path)
            #expect(shown.connectedSubscribers == 1)
            let deleted: Channel = try await test.administer("DELETE", path)
            #expect(deleted.channelID == made.channelID)
            try await test.waitForSubscribers(0, of: made.channelID)
            #expect(try await test.manage("GET", path).status == 404)
            #expect(try await test.manage("DELETE", path).status == 404)
            for client in [channels, device] { await client.close() }
        }
    }

    @Test func `The list has pages, and the environments have their own`() async throws {
        try await TestService.run { test in
            var ids: Set<String> = []
            for _ in 0..<3 {
                let made: Channel = try await test.administer(
                    "POST", "/v1/channels", ManagementMessages.NewChannel(bundleID: test.bundleID))
                #expect(made.messageStoragePolicy == 0)
                ids.insert(made.channelID)
            }
            let _: Channel = try await test.administer(
                "POST", "/v1/channels",
                ManagementMessages.NewChannel(bundleID: test.bundleID, environment: "production"))
            let (first, next) = try await Self.list(test, "&limit=2")
            #expect(first.count == 2)
            let rest = try await test.ask("GET", try required(next))
            let last = try JSONDecoder().decode([Channel].self, from: rest.body)
            #expect(Set((first + last).map(\.channelID)) == ids)
            #expect(rest.headers["link"].isEmpty)
            #expect(try await Self.list(test, "&environment=production").0.count == 1)
        }
    }

    @Test func `The metrics count the devices that broadcasts were sent to`() async throws {
        try await TestService.run { test in
            let channel = try await test.makeChannel()
            var devices: [WireClient] = []
            for _ in 0..<2 {
                let device = try await test.connectRegistered().client
                _ = try await device.listen()
                #expect(try await device.subscribe(to: channel).status == 204)
                devices.append(device)
            }
            try await test.waitForSubscribers(2, of: channel)
            let provider = try await test.broadcast(twiceTo: channel, statuses: [200, 200])
            let page = try await test.ask("GET", "/metrics")
            #expect(page.text.contains("carillon_broadcast_deliveries_total 4\n"))
            for client in provider + devices { await client.close() }
        }
    }

    @Test func `The metrics and the delivery log have refused requests for the management of channels`() async throws {
        try await TestService.run {
            $0.channels.channelsPerApp = 1
        } _: { test in
            let id = "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"
            _ = try await test.makeChannel()
            let client = try await test.connectChannels()
            let headers = ChannelHeaders("POST", token: try test.providerToken())
            let full = try await client.send(
                headers.adding("apns-request-id", id).fields, body: ChannelHeaders.creation)
            #expect(full.reason == "CannotCreateChannelConfig")
            let large = try await client.send(headers.fields, body: String(repeating: " ", count: 4097))
            #expect(large.reason == "PayloadTooLarge")
            let other = try await test.connectChannels()
            let anonymous = try await other.send(ChannelHeaders("POST", token: nil).fields, body: "")
            #expect(anonymous.reason == "MissingProviderToken")
            for reason in ["CannotCreateChannelConfig", "PayloadTooLarge", "MissingProviderToken"] {
                // A thread counts them, soon after the answer.
                let line = "carillon_rejections_total{reason=\"\(reason)\"} 1\n"
                try await wait(while: try await !test.ask("GET", "/metrics").text.contains(line))
            }
            let log = try await test.ask("GET", "/v1/log?id=\(id)").text
            #expect(log.contains("CannotCreateChannelConfig"))
            #expect(log.contains("com.example.app.push-type.liveactivity"))
            for client in [client, other] { await client.close() }
        }
    }

    @Test func `A device is shown with the channels to which its apps are subscribed`() async throws {
        try await TestService.run { test in
            let channels = [try await test.makeChannel(), try await test.makeChannel()].sorted()
            let (device, certificate) = try await test.connectRegistered()
            func shown() async throws -> ManagementMessages.Device {
                try await test.administer("GET", "/v1/devices/\(test.deviceID(of: certificate))")
            }
            #expect(try await shown().channels.isEmpty)
            for channel in channels { #expect(try await device.subscribe(to: channel).status == 204) }
            #expect(try await shown().channels == [test.bundleID: channels])
            let listed: [ManagementMessages.Device] = try await test.administer("GET", "/v1/devices")
            #expect(listed.map(\.channels) == [[test.bundleID: channels]])
            #expect(try await device.subscribe(to: channels[0], "DELETE").status == 204)
            #expect(try await shown().channels == [test.bundleID: [channels[1]]])

            let team = try required(test.description.key).teamID
            let made = try await test.ask("POST", "/v1/devices", body: #"{"team":"\#(team)"}"#)
            let virtual = try JSONDecoder().decode(ManagementMessages.Device.self, from: made.body)
            let changed = try await test.ask(
                "PATCH", "/v1/devices/\(virtual.deviceID)",
                body: #"{"channels":{"\#(test.bundleID)":["\#(channels[0])"]}}"#)
            let answer = try JSONDecoder().decode(ManagementMessages.Device.self, from: changed.body)
            #expect(answer.channels == [test.bundleID: [channels[0]]])
            // A new one may have channels from the beginning. If it cannot have them, there is none.
            func make(_ channels: String) async throws -> TestService.ManagementAnswer {
                try await test.ask("POST", "/v1/devices", body: #"{"team":"\#(team)","channels":\#(channels)}"#)
            }
            let second = try await make(#"{"\#(test.bundleID)":["\#(channels[1])","\#(channels[0])"]}"#)
            let shownSecond = try JSONDecoder().decode(ManagementMessages.Device.self, from: second.body)
            #expect(shownSecond.channels == [test.bundleID: channels])
            try await test.waitForSubscribers(2, of: channels[0])
            for (wrong, status, pointer) in [
                (#"{"\#(test.bundleID)":["\#(ChannelHeaders.unknown)"]}"#, 404, nil),
                (#"{"\#(test.bundleID)":["none!"]}"#, 400, "/channels/\(test.bundleID)/0"),
                (#"{"com.example.none":[]}"#, 400, "/channels"), ("[]", 400, "/channels"),
            ] as [(String, Int, String?)] {
                let refused = try await make(wrong)
                #expect(refused.status == status, "\(refused.text)")
                #expect(refused.problem?["pointer"] as? String == pointer, "\(refused.text)")
            }
            let all: [ManagementMessages.Device] = try await test.administer("GET", "/v1/devices")
            #expect(all.count == 3)
            await device.close()
        }
    }

    @Test func `Wrong requests are refused with what to do`() async throws {
        try await TestService.run {
            $0.channels.channelsPerApp = 1
        } _: { test in
            func expect(_ method: String, _ path: String, _ body: String?, _ status: Int, _ detail: String) async throws
            {
                let answer = try await test.ask(method, path, body: body)
                #expect(answer.status == status, "\(method) \(path): \(answer.text)")
                #expect(answer.problem?["detail"] as? String == detail, "\(method) \(path)")
            }
            let list = "/v1/channels"
            let noApp = "There is no app com.example.none; carillon app list shows all of them."
            try await expect("GET", list, nil, 400, "The query needs bundleID: a channel belongs to one app.")
            try await expect("GET", "\(list)?bundleID=com.example.none", nil, 409, noApp)
            try await expect(
                "GET", "\(list)?bundleID=a..b&environment=moon", nil, 400,
                #"environment is "moon". The value has to be one of development, production."#)
            try await expect(
                "GET", "\(list)/none!?bundleID=com.example.app", nil, 400,
                #"channelID is "none!". The value has to be a channel ID: 4 to 64 characters of base64."#)
            try await expect(
                "GET", "\(list)/\(ChannelHeaders.unknown)?bundleID=com.example.app", nil, 404,
                "The app has no channel \(ChannelHeaders.unknown) in this environment.")
            try await expect("POST", list, "{}", 400, "The key bundleID is missing.")
            try await expect("POST", list, #"{"bundleID":"com.example.none"}"#, 409, noApp)
            try await expect(
                "POST", list, #"{"bundleID":"com.example.app","messageStoragePolicy":2}"#, 400,
                "The value has to be from 0 to 1.")
            let first = try await test.ask("POST", list, body: #"{"bundleID":"com.example.app"}"#)
            #expect(first.status == 200, "\(first.text)")
            try await expect(
                "POST", list, #"{"bundleID":"com.example.app"}"#, 409,
                "The app has 1 channels already; delete some first.")
        }
    }
}
