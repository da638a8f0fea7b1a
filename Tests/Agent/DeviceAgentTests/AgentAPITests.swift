import APNSDevice
import CommonTesting
import Foundation
import HTTPAPIClient
import NIOCore
import NIOHTTP1
import NIOPosix
import HTTPTypes
import HTTPAPI
import Notifications
import Testing

@testable import DeviceAgent
@testable import ServiceTesting

/// The agent in this process, with a whole service, through its socket.
@Suite(.timeLimit(.minutes(2))) struct AgentAPITests {
    private func run(manifest: String? = nil, _ body: (AgentRig) async throws -> Void) async throws {
        try await TestService.run { service in
            try await withAgentFolder { folder in
                try await AgentRig.run(on: service, folder: folder, manifest: manifest, body)
            }
        }
    }

    @Test func `An app registers, gets a notification, and does not get it again once it was handled`() async throws {
        try await run { rig in
            let token = try await rig.token()
            #expect(try await rig.token() == token)
            let stream = rig.events()
            try await rig.send(#"{"aps":{"alert":"Hello"},"order":7}"#, to: token)
            let event = try await stream.next()[0]
            #expect(event["event"] == "shown" && event["payload"]?["order"] == 7)
            #expect(event["content"]?["body"] == "Hello")
            stream.close()
            // It comes again until it was handled.
            let again = rig.events()
            #expect(try await again.next()[0] == event)
            try await rig.handled([try required(event["delivery"])])
            try await rig.send(#"{"aps":{"alert":"Next"}}"#, to: token)
            let next = try await again.next()[0]
            #expect(next["content"]?["body"] == "Next" && next["delivery"]?.int ?? 0 > event["delivery"]?.int ?? 0)
            let last = rig.events()
            #expect(try await last.next()[0] == next)
        }
    }

    @Test func `What was not handled is there after a restart, with the same number and the same device`() async throws
    {
        try await TestService.run { service in
            try await withAgentFolder { folder in
                var (first, device) = (JSONValue.null, "")
                try await AgentRig.run(on: service, folder: folder) { rig in
                    try await rig.send(#"{"aps":{"alert":"Hello"}}"#, to: try await rig.token())
                    let reader = rig.events()
                    first = try await reader.next()[0]
                    device = try required(rig.agent.identity?.deviceID)
                }
                try await AgentRig.run(on: service, folder: folder) { rig in
                    #expect(rig.agent.identity?.deviceID == device)
                    let stream = rig.events()
                    let again = try await stream.next()[0]
                    #expect(again == first)
                }
            }
        }
    }

    @Test func `A Web Push message comes to the app in every state, once, and the user sees nothing`() async throws {
        try await run { rig in
            try await rig.register()
            _ = try await rig.client.ask(.POST, rig.path + "/state", ["state": "force-quit"])
            let message = ReceivedNotification(
                id: UUID().uuidString.lowercased(), bundleID: rig.bundleID,
                webPush: WebPushMessage(subscription: "account", body: [0, 255], encoding: "aes128gcm", topic: "t"))
            await rig.agent.receive(message)
            await rig.agent.receive(message)
            let event = try await rig.events().next()[0]
            #expect(event["event"] == "webpush" && event["subscription"] == "account" && event["payload"] == nil)
            #expect(
                event["webPush"]
                    == [
                        "body": "AP8", "encoding": "aes128gcm", "dh": .null, "salt": .null, "urgency": "normal",
                        "topic": "t",
                    ])
            #expect(try await rig.app()?["pending"] == 1)
            #expect(await rig.agent.state.centre.notifications.isEmpty)
        }
    }

    @Test func `A silent notification wakes the app, which has thirty seconds`() async throws {
        try await run { rig in
            let token = try await rig.token()
            let stream = rig.events()
            try await rig.send(
                #"{"aps":{"content-available":1}}"#, to: token,
                headers: [("apns-push-type", "background"), ("apns-priority", "5")])
            let event = try await stream.next()[0]
            #expect(event["event"] == "woken" && event["seconds"] == 30)
        }
    }

    @Test func `An app in the foreground gets the notification, and nothing is shown`() async throws {
        try await run { rig in
            let token = try await rig.token()
            let stream = rig.events()
            _ = try await rig.client.ask(.POST, rig.path + "/state", ["state": "foreground"])
            try await wait(while: await rig.agent.state.life(of: rig.bundleID) != .foreground)
            try await rig.send(#"{"aps":{"alert":"Hello"}}"#, to: token)
            #expect(try await stream.next()[0]["event"] == "received")
            #expect(await rig.agent.state.centre.notifications.isEmpty)
        }
    }

    @Test func `An app that the user has ended is shown and not woken, until it registers again`() async throws {
        try await run { rig in
            let token = try await rig.token()
            _ = try await rig.client.ask(.POST, rig.path + "/state", ["state": "force-quit"])
            #expect(try await rig.app()?["state"] == "force-quit")
            try await rig.send(#"{"aps":{"content-available":1}}"#, to: token)
            try await rig.send(#"{"aps":{"alert":"Hello"}}"#, to: token)
            let stream = rig.events()
            #expect(try await stream.next()[0]["event"] == "shown")
            try await rig.register()
            #expect(try await rig.app()?["state"] == "background")
            #expect(try await rig.client.ask(.GET, "/v1/status")["dropped"] == ["force-quit": 1])
        }
    }

    @Test func `The services of an app have device tokens of their own`() async throws {
        try await run { rig in
            let answer = try await rig.register(["services": ["voip"]])
            let token = try required(answer["services"]?["voip"]?.string)
            #expect(token != answer["token"]?.string)
            let stream = rig.events()
            try await rig.send(
                #"{"call":1}"#, to: token,
                headers: [("apns-topic", rig.bundleID + ".voip"), ("apns-push-type", "voip")])
            let event = try await stream.next()[0]
            #expect(event["event"] == "pushed" && event["service"] == "voip")
        }
    }

    @Test func `The alert of a Live Activity is shown, unless its start is refused`() async throws {
        try await run { rig in
            let answer = try await rig.register(["services": ["liveactivity"]])
            let token = try required(answer["services"]?["liveactivity"]?.string)
            let stream = rig.events()
            let headers = [
                ("apns-topic", rig.bundleID + ".push-type.liveactivity"), ("apns-push-type", "liveactivity"),
            ]
            let start =
                #""timestamp":1,"event":"start","alert":"Kick-off","attributes-type":"Match","content-state":{}"#
            try await rig.send(#"{"aps":{\#(start)}}"#, to: token, headers: headers)
            // A later event would come first if the refused start had shown its alert.
            let refused = try await stream.next()[0]
            #expect(refused["event"] == "pushed" && refused["service"] == "liveactivity")
            try await rig.send(#"{"aps":{\#(start),"attributes":{}}}"#, to: token, headers: headers)
            let events = try await stream.next(2)
            #expect(events[0]["event"] == "pushed" && events[0]["payload"]?["aps"]?["attributes"] == [:])
            #expect(events[1]["event"] == "shown" && events[1]["content"]?["body"] == "Kick-off")
            #expect(await rig.agent.state.centre.notifications.count == 1)
        }
    }

    @Test func `A call starts an app that the user has ended`() async throws {
        try await run { rig in
            let answer = try await rig.register(["services": ["voip"]])
            _ = try await rig.client.ask(.POST, rig.path + "/state", ["state": "force-quit"])
            try await rig.send(
                #"{"call":1}"#, to: try required(answer["services"]?["voip"]?.string),
                headers: [("apns-topic", rig.bundleID + ".voip"), ("apns-push-type", "voip")])
            let stream = rig.events()
            #expect(try await stream.next()[0]["event"] == "pushed")
            #expect(try await rig.app()?["state"] == "background")
            #expect(try rig.agent.store.records()[rig.bundleID]?.isForceQuit == false)
        }
    }

    @Test func `A text is shown in the user's language, with the actions of its category`() async throws {
        try await run { rig in
            let answer = try await rig.register([
                "localizations": ["en": ["ORDER": "Order %@ is ready"]],
                "categories": [["id": "order", "actions": [["id": "take", "title": "Take"]]]],
            ])
            let stream = rig.events()
            try await rig.send(
                #"{"aps":{"alert":{"loc-key":"ORDER","loc-args":["7"]},"category":"order"}}"#,
                to: try required(answer["token"]?.string))
            let shown = try await stream.next()[0]
            #expect(shown["content"]?["body"] == "Order 7 is ready")
            #expect(shown["actions"] == [["id": "take", "opensApp": false, "title": "Take"]])
            let id = try required(shown["id"]?.string)
            _ = try await rig.client.ask(
                .POST, rig.path + "/notifications/\(id)", ["response": "action", "action": "take"])
            let response = try await stream.next()[0]
            #expect(response["event"] == "responded" && response["action"] == "take")
        }
    }

    @Test func `While the user does not want to be disturbed, only urgent alerts are not quiet`() async throws {
        try await run { rig in
            let token = try await rig.token()
            _ = try await rig.client.ask(.PUT, "/v1/settings", ["doNotDisturb": true])
            let stream = rig.events()
            try await rig.send(#"{"aps":{"alert":"Hello"}}"#, to: token)
            try await rig.send(#"{"aps":{"alert":"Now","interruption-level":"time-sensitive"}}"#, to: token)
            let events = try await stream.next(2)
            #expect(events[0]["quiet"] == true && events[1]["quiet"] == nil)
        }
    }

    @Test func `The user switches an app's alerts off`() async throws {
        try await run { rig in
            let token = try await rig.token()
            _ = try await rig.client.ask(.PUT, rig.path + "/settings", ["alerts": "off", "sounds": false])
            let stream = rig.events()
            try await rig.send(#"{"aps":{"alert":"Hello","sound":"ping"}}"#, to: token)
            try await rig.send(#"{"aps":{"badge":3}}"#, to: token)
            let event = try await stream.next()[0]
            #expect(event["event"] == "badge" && event["badge"] == 3)
            #expect(try await rig.client.ask(.GET, "/v1/status")["dropped"] == ["switched-off": 1])
        }
    }

    @Test func `A removed app has no queue and no stream, and its device token is no longer active`() async throws {
        try await run { rig in
            let token = try await rig.token()
            let stream = rig.events()
            try await rig.send(#"{"aps":{"alert":"Hello"}}"#, to: token)
            _ = try await stream.next()
            _ = try await rig.client.ask(.DELETE, rig.path)
            await stream.ended()
            let refusal = await #expect(throws: AgentRig.Refused.self) {
                try await rig.send(#"{"aps":{"alert":"Hello"}}"#, to: token)
            }
            #expect(refusal?.status == 410)
            // It can register again.
            #expect(try await !rig.token().isEmpty)
            #expect(try await rig.app()?["pending"] == 0)
        }
    }

    @Test func `Nobody but the user of the manifest can be the app`() async throws {
        try await run(manifest: #"{"bundleID":"com.example.app","user":"12345"}"#) { rig in
            for (method, path) in [("PUT", rig.path), ("DELETE", rig.path), ("GET", rig.path + "/events")] {
                let refusal = await #expect(throws: AgentRig.Refused.self) {
                    try await rig.client.ask(.RAW(value: method), path, nil)
                }
                #expect(refusal?.status == 403)
            }
            let unknown = await #expect(throws: AgentRig.Refused.self) {
                try await rig.client.ask(.PUT, "/v1/apps/com.example.other", nil)
            }
            #expect(unknown?.status == 403)
        }
    }

    @Test func `An app that registers too often is refused, and others are not`() async throws {
        try await run { rig in
            try AgentRig.write(#"{"bundleID":"com.example.second"}"#, to: rig.folder + "/apps.d/second.json")
            var refused = false
            for _ in 0..<200 where !refused {
                do {
                    try await rig.register()
                } catch let error as AgentRig.Refused {
                    #expect(error.status == 429)
                    refused = true
                }
            }
            #expect(refused)
            // The service does not know this app; the rate of the other one does not count.
            let second = await #expect(throws: AgentRig.Refused.self) {
                try await rig.client.ask(.PUT, "/v1/apps/com.example.second", nil)
            }
            #expect(second?.status == 409)
        }
    }

    @Test func `A stranger who sends many requests waits, and nobody else does`() async throws {
        try await run { rig in
            let agent = rig.agent
            let now = NIODeadline.uptimeNanoseconds(1 << 60)
            let (stranger, other) = (LocalPeer(user: 54_321, groups: []), LocalPeer(user: 54_322, groups: []))
            for _ in 0..<20 { #expect(await agent.wait(of: stranger, now: now) == .zero) }
            let waits = [await agent.wait(of: stranger, now: now), await agent.wait(of: stranger, now: now)]
            #expect(waits[0] > .zero && waits[1] > waits[0], "\(waits)")
            #expect(await agent.wait(of: other, now: now) == .zero)
            let own = LocalPeer(user: geteuid(), groups: [])
            for _ in 0..<100 { #expect(await agent.wait(of: own, now: now) == .zero) }
            #expect(await agent.wait(of: stranger, now: now + .minutes(1)) == .zero)
        }
    }

    @Test func `A user who opens connections without end gets no more of them, until some are closed`() async throws {
        try await run { rig in
            let socket = rig.agent.settings.socket
            var open: [any Channel] = []
            for _ in 0..<AgentLimits.connectionsOfUser {
                open.append(
                    try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                        .connect(unixDomainSocketPath: socket).get())
            }
            await #expect(throws: AgentRig.Refused.self) { try await rig.client.ask(.GET, "/v1/status") }
            for channel in open {
                try await channel.close(mode: .output)
                // The agent has noticed the end when it has closed the connection as well.
                try await channel.closeFuture.get()
            }
            _ = try await rig.client.ask(.GET, "/v1/status")
        }
    }

    @Test func `Streams that nobody reads do not delay another one, and the queue is limited`() async throws {
        try await TestService.run { service in
            try await withAgentFolder { folder in
                try await AgentRig.run(on: service, folder: folder) { rig in
                    let token = try await rig.token()
                    // All streams but one, of which nobody reads anything.
                    var open: [any Channel] = []
                    for _ in 1..<AgentLimits.streams {
                        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                            .channelOption(.autoRead, value: false)
                            .connect(unixDomainSocketPath: rig.agent.settings.socket).get()
                        let request = "GET \(rig.path)/events HTTP/1.1\r\nHost: agent\r\n\r\n"
                        try await channel.writeAndFlush(ByteBuffer(string: request))
                        open.append(channel)
                    }
                    let text = String(repeating: "x", count: 3000)
                    for _ in 0..<AgentLimits.queuedEvents / 50 {
                        _ = try rig.agent.store.add(
                            Array(repeating: #"{"event":"shown","text":"\#(text)"}"#, count: 50), of: rig.bundleID)
                    }
                    try await rig.send(#"{"aps":{"alert":"Hello"}}"#, to: token)
                    #expect(try await rig.app()?["pending"]?.int == Int64(AgentLimits.queuedEvents))
                    let reader = rig.events()
                    var last = try await reader.next()[0]
                    while last["content"]?["body"] != "Hello" { last = try await reader.next()[0] }
                    for channel in open { try await channel.close() }
                }
            }
        }
    }

    @Test func `Invalid documents are refused with the place of the fault`() async throws {
        try await run { rig in
            let refusal = await #expect(throws: AgentRig.Refused.self) {
                try await rig.register(["services": ["fax"]])
            }
            #expect(refusal?.status == 400 && refusal?.detail.contains("voip") == true)
            let state = await #expect(throws: AgentRig.Refused.self) {
                try await rig.client.ask(.POST, rig.path + "/state", ["state": "sleeping"])
            }
            #expect(state?.status == 400)
        }
    }

    @Test func `The service shows the agent's version beside the device`() async throws {
        try await run { rig in
            // The agent has reported it before its first request is answered.
            _ = try await rig.token()
            let device = try await rig.service.ask("GET", "/v1/devices/\(rig.agent.identity?.deviceID ?? "")")
            #expect(device.problem?["software"] as? String == "carillon-agent test", "\(device.text)")
        }
    }

    @Test func `A stream whose answer is never written does not count`() async throws {
        try await run { rig in
            let token = try await rig.token()
            for _ in 0..<AgentLimits.streams { _ = try? await rig.client.ask(.HEAD, rig.path + "/events") }
            try await wait(while: await !rig.agent.streams.isEmpty)
            let stream = rig.events()
            try await rig.send(#"{"aps":{"alert":"Order 7"}}"#, to: token)
            #expect(try await stream.next()[0]["content"]?["body"] == "Order 7")
        }
    }

    @Test func `The description has every operation`() async throws {
        try await run { rig in
            let description = try await rig.client.ask(.GET, "/openapi.json")
            for operation in AgentOperations.all {
                let method = operation.method.rawValue.lowercased()
                #expect(description["paths"]?[operation.path]?[method] != nil)
            }
        }
    }
}
