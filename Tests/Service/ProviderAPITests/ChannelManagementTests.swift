import Delivery
import Foundation
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// The management of broadcast channels over the wire (docs/channels.md).
@Suite(.timeLimit(.minutes(5)))
struct ChannelManagementTests {
    static let id = "8B1E5B4A-9C0C-4D5E-8F00-0123456789AB"

    @Test(arguments: [0, 1])
    func `A channel is created, read, listed and deleted`(policy: Int) async throws {
        try await TestService.run { test in
            let channels = try await test.connectChannels()
            let token = try test.providerToken()
            let created = try await channels.send(
                ChannelHeaders("POST", token: token).adding("apns-request-id", Self.id).fields,
                body: #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#)
            #expect(created.status == 201 && created.body.isEmpty)
            #expect(created.headers["apns-request-id"] == [Self.id])
            let id = try required(created.headers["apns-channel-id"]?.first)
            #expect(Data(base64Encoded: id)?.count == 16)

            let read = try await channels.send(ChannelHeaders("GET", token: token, channel: id).fields, body: "")
            #expect(read.status == 200)
            #expect(read.body == #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#)
            let listed = try await channels.send(ChannelHeaders("GET", "all-channels", token: token).fields, body: "")
            #expect(listed.status == 200)
            #expect(listed.body == #"{"channels":["\#(id)"]}"#)

            let deleted = try await channels.send(
                ChannelHeaders("DELETE", token: token, channel: id).fields, body: "")
            #expect(deleted.status == 204)
            #expect(deleted.body.isEmpty)
            let gone = try await channels.send(ChannelHeaders("GET", token: token, channel: id).fields, body: "")
            #expect((gone.status, gone.reason) == (400, "ChannelNotRegistered"))
            await channels.close()
        }
    }

    @Test func `A provider certificate is accepted like a provider token`() async throws {
        try await TestService.run { test in
            let channels = try await test.connectChannels(try await test.makeCertificate())
            let created = try await channels.send(
                ChannelHeaders("POST", token: nil).fields, body: ChannelHeaders.creation)
            #expect(created.status == 201)
            let other = try await channels.send(
                ChannelHeaders("GET", "all-channels", bundleID: "com.example.other", token: nil).fields, body: "")
            #expect((other.status, other.reason) == (403, "TopicMismatch"))
            await channels.close()
        }
    }

    @Test func `Channels survive a restart, and each environment has its own`() async throws {
        try await TestService.runTwice { test in
            let channels = try await test.connectChannels()
            return try await channels.create(token: try test.providerToken())
        } _: { test, id in
            let token = try test.providerToken()
            let channels = try await test.connectChannels()
            let listed = try await channels.send(ChannelHeaders("GET", "all-channels", token: token).fields, body: "")
            #expect(listed.body == #"{"channels":["\#(id)"]}"#)
            let production = try await WireClient.connect(
                port: try test.port(of: .production, \.channels), authorityFile: test.description.ca)
            let others = try await production.send(
                ChannelHeaders("GET", "all-channels", token: token).fields, body: "")
            #expect(others.body == #"{"channels":[]}"#)
            await production.close()
            await channels.close()
        }
    }

    @Test func `An app has no more channels than the limit allows`() async throws {
        try await TestService.run {
            $0.channels.channelsPerApp = 1
        } _: { test in
            let channels = try await test.connectChannels()
            let token = try test.providerToken()
            let id = try await channels.create(token: token)
            let refused = try await channels.send(
                ChannelHeaders("POST", token: token).fields, body: ChannelHeaders.creation)
            #expect((refused.status, refused.reason) == (400, "CannotCreateChannelConfig"))
            _ = try await channels.send(ChannelHeaders("DELETE", token: token, channel: id).fields, body: "")
            _ = try await channels.create(token: token)
            await channels.close()
        }
    }

    @Test func `The list has all channels of an app, also if the limit was lowered since`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cs-\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: folder) }
        var known: Set<String> = []
        for limit in [3, 1] {
            try await TestService.run {
                $0.dataFolder = folder.path
                $0.channels.channelsPerApp = limit
            } _: { test in
                let channels = try await test.connectChannels()
                let token = try test.providerToken()
                if known.isEmpty { for _ in 0..<3 { known.insert(try await channels.create(token: token)) } }
                let listed = try await channels.send(
                    ChannelHeaders("GET", "all-channels", token: token).fields, body: "")
                let names = try JSONDecoder().decode([String: [String]].self, from: Data(listed.body.utf8))["channels"]
                #expect(Set(names ?? []) == known)
                await channels.close()
            }
        }
    }

    @Test func `If channels are switched off, all requests are refused`() async throws {
        try await TestService.run {
            $0.channels.channelsPerApp = 0
        } _: { test in
            let channels = try await test.connectChannels()
            let token = try test.providerToken()
            for headers in [
                ChannelHeaders("POST", token: token), ChannelHeaders("GET", "all-channels", token: token),
                ChannelHeaders("GET", token: token, channel: ChannelHeaders.unknown),
            ] {
                let answer = try await channels.send(headers.fields, body: ChannelHeaders.creation)
                #expect((answer.status, answer.reason) == (400, "FeatureNotEnabled"))
            }
            await channels.close()
        }
    }

    @Test func `If an app's channels are switched off, they are deleted and all requests are refused`() async throws {
        try await TestService.run { test in
            let channels = try await test.connectChannels()
            let token = try test.providerToken()
            let channel = try await channels.create(token: token)
            let device = try await test.connectRegistered().client
            let off = try await test.ask("PATCH", "/v1/apps/com.example.app", body: #"{"broadcast":false}"#)
            #expect(off.status == 200 && off.text.contains(#""broadcast":false"#), "\(off.text)")
            for headers in [
                ChannelHeaders("POST", token: token), ChannelHeaders("GET", "all-channels", token: token),
                ChannelHeaders("GET", token: token, channel: ChannelHeaders.unknown),
            ] {
                let answer = try await channels.send(headers.fields, body: ChannelHeaders.creation)
                #expect((answer.status, answer.reason) == (400, "FeatureNotEnabled"))
            }
            let provider = try await BroadcastProvider(test)
            let broadcast = try await provider.broadcast(to: channel)
            #expect((broadcast.status, broadcast.reason) == (400, "FeatureNotEnabled"))
            let subscription = try await device.subscribe(to: channel)
            #expect((subscription.status, subscription.reason) == (400, "FeatureNotEnabled"))
            await provider.client.close()
            await device.close()
            let on = try await test.ask("PATCH", "/v1/apps/com.example.app", body: #"{"broadcast":true}"#)
            #expect(on.text.contains(#""broadcast":true"#))
            let listed = try await channels.send(ChannelHeaders("GET", "all-channels", token: token).fields, body: "")
            #expect(listed.body == #"{"channels":[]}"#)
            await channels.close()
        }
    }

    /// Each reason that a request alone can get, with the request's fault.
    static let rejections: [(reason: Rejection.Reason, change: @Sendable (inout ChannelHeaders) -> Void)] = [
        (.badPath, { $0.set(":path", "/1/apps/com.example.app/channel") }),
        (.badPath, { $0.set(":path", "/1/apps//channels") }),
        (.badPath, { $0.set(":path", "/2/apps/com.example.app/channels") }),
        (.methodNotAllowed, { $0.set(":method", "PUT") }),
        (.methodNotAllowed, { $0.set(":path", "/1/apps/com.example.app/all-channels") }),
        (.duplicateHeaders, { $0 = $0.adding("apns-request-id", id).adding("apns-request-id", id) }),
        (.missingProviderToken, { $0.set("authorization", nil) }),
        (.invalidProviderToken, { $0.set("authorization", "bearer none") }),
        (.badMessageID, { $0.set("apns-request-id", "none") }),
        (.topicMismatch, { $0.set(":path", "/1/apps/com.example.other/channels") }),
        (.payloadEmpty, { $0.body = "" }),
        (.topicDisallowed, { $0.set(":path", "/1/apps/com.example.app.push-type.liveactivity/channels") }),
        (.badRequestPayload, { $0.body = "{" }),
        (.badRequestPayload, { $0.body = "[]" }),
        (.badRequestParams, { $0.body = #"{"message-storage-policy":0,"push-type":"LiveActivity","name":"a"}"# }),
        (.badRequestParams, { $0.body = #"{"push-type":"LiveActivity"}"# }),
        (.badRequestParams, { $0.body = #"{"message-storage-policy":2,"push-type":"LiveActivity"}"# }),
        (.missingPushType, { $0.body = #"{"message-storage-policy":0}"# }),
        (.invalidPushType, { $0.body = #"{"message-storage-policy":0,"push-type":"alert"}"# }),
        (.payloadTooLarge, { $0.body = String(repeating: " ", count: 5000) }),
        (.missingChannelID, { $0.set(":method", "GET") }),
        (.badChannelID, { $0.set(":method", "GET", "apns-channel-id", "not base64") }),
        (.badChannelID, { $0.set(":method", "GET", "apns-channel-id", String(repeating: "A", count: 68)) }),
        (.channelNotRegistered, { $0.set(":method", "GET", "apns-channel-id", ChannelHeaders.unknown) }),
        (.channelNotRegistered, { $0.set(":method", "DELETE", "apns-channel-id", ChannelHeaders.unknown) }),
    ]

    @Test(arguments: rejections.indices)
    func `Each rejection has the documented status and reason`(index: Int) async throws {
        let (reason, change) = Self.rejections[index]
        try await TestService.run { test in
            var headers = ChannelHeaders("POST", token: try test.providerToken())
            change(&headers)
            let channels = try await test.connectChannels()
            let answer = try await channels.send(headers.fields, body: headers.body)
            #expect((answer.status, answer.reason) == (reason.status, reason.rawValue))
            #expect(Set(answer.headers.keys) == [":status", "apns-request-id", "content-type"])
            #expect(answer.headers["apns-request-id"]?.count == 1)
            await channels.close()
        }
    }

    @Test func `The order of the checks decides if several things are wrong`() async throws {
        try await TestService.run { test in
            let channels = try await test.connectChannels()
            let token = try test.providerToken()
            var headers = ChannelHeaders("PUT", token: nil)
            headers.set("apns-request-id", "none")
            headers.set(":path", "/1/apps/com.example.other/channels")
            headers.body = ""
            for (reason, mend) in [
                ("MethodNotAllowed", { $0.set(":method", "POST") }),
                ("MissingProviderToken", { $0.set("authorization", "bearer \(token)") }),
                ("BadMessageId", { $0.set("apns-request-id", Self.id) }),
                ("TopicMismatch", { $0.set(":path", "/1/apps/com.example.app/channels") }),
                ("PayloadEmpty", { $0.body = ChannelHeaders.creation }),
            ] as [(String, (inout ChannelHeaders) throws -> Void)] {
                #expect(try await channels.send(headers.fields, body: headers.body).reason == reason)
                try mend(&headers)
            }
            #expect(try await channels.send(headers.fields, body: headers.body).status == 201)
            await channels.close()
        }
    }

    @Test func `The binary API works on the same port`() async throws {
        try await TestService.run { test in
            let (channels, binary) = (try test.port(\.channels), try test.port(\.binary))
            #expect(channels == binary)
            // A client that offers no protocol gets the legacy protocol, and needs a certificate.
            let client = try await WireClient.connect(
                port: binary, authorityFile: test.description.ca, protocols: [])
            #expect(await !client.isServed(ChannelHeaders("GET", "all-channels", token: nil).fields))
        }
    }
}
