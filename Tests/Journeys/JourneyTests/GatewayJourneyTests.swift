import CommonTesting
import Foundation
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// The whole journey through the gateway, in processes of their own: a phone, a service that plays Apple's, the publisher's
/// gateway, and two instances with curl, whose keys can do nothing else (docs/gateway.md).
@Suite(.service(), .timeLimit(.minutes(3))) struct GatewayJourneyTests {
    private let bundleID = "com.example.app"

    /// What an instance has.
    private struct Instance {
        let grant: String
        let clientKey: String
        let provider: Provider
    }

    /// Runs the publisher's gateway, whose upstream is the service of the suite.
    private func withPublisher(
        _ body: (_ apple: CarillonProcess, _ publisher: CarillonProcess) async throws -> Void
    ) async throws {
        let apple = try CarillonProcess.current
        try await CarillonProcess.with { publisher in
            let key = try apple.developmentKey
            let set = try await publisher.carillon(
                "app", "upstream", "set", "--bundle-id", bundleID, "--environment", "development", "--url",
                "https://\(try apple.addresses(.development).provider)", "--ca", apple.ready.ca, "--key-file", key.path,
                "--key-id", key.keyID, "--team-id", key.teamID)
            try #require(set.status == 0, "\(set.errors)")
            try await body(apple, publisher)
        }
    }

    private func instance(
        _ publisher: CarillonProcess,
        _ name: String,
        _ more: [String] = [],
    ) async throws -> Instance {
        let arguments = ["grant", "create", "--bundle-id", bundleID, "--name", name, "--out", publisher.data + "-keys"]
        let made = try await BuiltCommand.run(arguments + more + ["--data", publisher.data, "--json"])
        try #require(made.status == 0, "\(made.errors)")
        let values = try ["grant", "clientKey", "teamID", "keyID", "path"].map { try #require(made.object[$0]?.text) }
        return Instance(
            grant: values[0], clientKey: values[1],
            provider: try Provider(teamID: values[2], keyID: values[3], keyFile: values[4]))
    }

    /// What the app on a phone does at its launch, with curl.
    private func makeHandle(
        _ publisher: CarillonProcess,
        _ instance: Instance,
        _ token: String,
    ) async throws -> String {
        let body = #"{"bundleID":"\#(bundleID)","environment":"development","token":"\#(token)"}"#
        let answer = try await Curl.request(
            "POST", "https://\(try publisher.addresses(.development).provider)/1/handles", ca: publisher.ready.ca,
            headers: [("authorization", "bearer \(instance.clientKey)")], body: Array(body.utf8))
        try #require(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        return try #require(try answer.json["handle"]?.text)
    }

    private func send(
        _ publisher: CarillonProcess,
        _ instance: Instance,
        to handle: String,
        payload: String = #"{"aps":{"alert":"Hello"}}"#,
    ) async throws -> Curl.Response {
        var push = try WirePush(token: handle, topic: bundleID, from: instance.provider)
        push.payload(payload)
        return try await publisher.send(push)
    }

    @Test func `Two instances reach the phone through the publisher, each within its grant`() async throws {
        try await withPublisher { apple, publisher in
            let open = try await instance(publisher, "open.example.org")
            let sealed = try await instance(publisher, "sealed.example.org", ["--encrypted-only", "--daily", "2"])
            let phone = try await apple.activate()
            let token = try await apple.register(bundleID, on: phone)
            let openHandle = try await makeHandle(publisher, open, token)
            let sealedHandle = try await makeHandle(publisher, sealed, token)
            #expect(Set([openHandle, sealedHandle, token]).count == 3)

            try await apple.listen(as: phone) { stream in
                let sent = try await send(publisher, open, to: openHandle)
                #expect(sent.status == 200, "\(String(decoding: sent.body, as: UTF8.self))")
                let line = try await stream.nextNotification()
                #expect(line["payload"] == ["aps": ["alert": "Hello"]])
                #expect(line["id"]?.text == sent["apns-id"]?.lowercased())
                _ = try await apple.acknowledge(line, as: phone)

                let secret = #"{"aps":{"mutable-content":1,"alert":{"loc-key":"NEW"}},"data":"c2VjcmV0"}"#
                #expect(try await send(publisher, sealed, to: sealedHandle, payload: secret).status == 200)
                let second = try await stream.nextNotification()
                #expect(second["payload"]?["data"] == "c2VjcmV0")
                _ = try await apple.acknowledge(second, as: phone)
            }

            // What an instance may not do never reaches the upstream.
            let refused: [(Instance, String, Int, String)] = [
                (sealed, sealedHandle, 400, "PayloadEmpty"), (open, token, 400, "BadDeviceToken"),
                (open, sealedHandle, 400, "DeviceTokenNotForTopic"),
            ]
            for (instance, handle, status, reason) in refused {
                let answer = try await send(publisher, instance, to: handle)
                #expect(answer.status == status)
                #expect(try answer.json["reason"]?.text == reason)
            }
            // An instance's key is worth nothing elsewhere.
            let elsewhere = try await apple.send(try WirePush(token: token, topic: bundleID, from: open.provider))
            #expect(elsewhere.status == 403)

            let shown = try await publisher.carillon("grant", "show", open.grant)
            #expect(try shown.object["sent"] == ["200": 1, "BadDeviceToken": 1, "DeviceTokenNotForTopic": 1])
            #expect(try shown.object["handles"] == 1)
        }
    }

    @Test func `A deleted app is answered 410, and registering again brings it back`() async throws {
        try await withPublisher { apple, publisher in
            let instance = try await instance(publisher, "chat.example.org")
            let phone = try await apple.activate()
            let token = try await apple.register(bundleID, on: phone)
            let handle = try await makeHandle(publisher, instance, token)
            let gone = try await apple.carillon(
                "device", "unregister", "--identity", phone, "--bundle-id", bundleID)
            #expect(gone.status == 0)
            let first = try await send(publisher, instance, to: handle)
            #expect(first.status == 410)
            let timestamp = try #require(try first.json["timestamp"])
            // From now on the gateway answers.
            var second = try await send(publisher, instance, to: handle)
            #expect(second.status == 410)
            #expect(try second.json["timestamp"] == timestamp)
            #expect(try second.json["reason"]?.text == "Unregistered")

            let renewed = try await apple.register(bundleID, on: phone)
            second = try await send(publisher, instance, to: try await makeHandle(publisher, instance, renewed))
            #expect(second.status == 200)
        }
    }

    @Test func `A revocation is in effect at once, and nothing is forwarded any more`() async throws {
        try await withPublisher { apple, publisher in
            let instance = try await instance(publisher, "chat.example.org")
            let phone = try await apple.activate()
            let handle = try await makeHandle(publisher, instance, try await apple.register(bundleID, on: phone))
            #expect(try await send(publisher, instance, to: handle).status == 200)
            #expect(try await publisher.carillon("grant", "suspend", instance.grant).status == 0)
            #expect(try await send(publisher, instance, to: handle).status == 403)
            #expect(try await publisher.carillon("grant", "resume", instance.grant).status == 0)
            #expect(try await send(publisher, instance, to: handle).status == 200)
            #expect(try await publisher.carillon("grant", "revoke", instance.grant).status == 0)
            #expect(try await send(publisher, instance, to: handle).status == 403)
        }
    }

    @Test func `A gateway that was killed knows its handles and grants, and never says 200 by itself`() async throws {
        try await withTemporaryFolder { folder in
            let apple = try CarillonProcess.current
            let (key, phone) = (try apple.developmentKey, try await apple.activate())
            let token = try await apple.register(bundleID, on: phone)
            let url = "https://\(try apple.addresses(.development).provider)"
            var kept: (instance: Instance, handle: String)?
            try await CarillonProcess.with(data: folder + "/gateway") { publisher in
                let set = try await publisher.carillon(
                    "app", "upstream", "set", "--bundle-id", bundleID, "--environment", "development", "--url", url,
                    "--ca", apple.ready.ca, "--key-file", key.path, "--key-id", key.keyID, "--team-id", key.teamID)
                #expect(set.status == 0, "\(set.errors)")
                let sender = try await instance(publisher, "chat.example.org", ["--daily", "3"])
                let handle = try await makeHandle(publisher, sender, token)
                kept = (sender, handle)
                #expect(try await send(publisher, sender, to: handle).status == 200)
                // The number is in the store when it is shown.
                #expect(try await publisher.carillon("grant", "show", sender.grant).object["today"] == 1)
                _ = await publisher.stop(SIGKILL)
            }
            let (sender, handle) = try #require(kept)
            try await CarillonProcess.with(data: folder + "/gateway") { publisher in
                var statuses: [Int] = []
                for _ in 0..<3 { statuses.append(try await send(publisher, sender, to: handle).status) }
                #expect(statuses == [200, 200, 429])
            }
        }
    }
}
