import APNSDevice
import CommonTesting
import Foundation
import HTTPAPIClient
import Logging
import NIOHTTP1
import NIOCore
import Notifications
import Testing

@testable import DeviceAgent
@testable import ServiceTesting

/// Alerts on a desktop: a real session bus, with a notification service in Python.
@Suite(
    .startsPrograms, .enabled(if: DesktopSession.isPossible, "it needs dbus, python3-dbus and python3-gi"),
    .timeLimit(.minutes(2)))
struct DesktopTests {
    private func run(
        _ members: String = #""icon":"kiosk""#, _ body: (AgentRig, DesktopSession) async throws -> Void
    ) async throws {
        try await TestService.run { service in
            try await withAgentFolder { folder in
                try await DesktopSession.run(folder) { session in
                    let manifest = #"{"bundleID":"\#(service.bundleID)","name":"Kiosk",\#(members)}"#
                    try await AgentRig.run(
                        on: service, folder: folder, manifest: manifest, desktopBus: session.address
                    ) { rig in try await body(rig, session) }
                }
            }
        }
    }

    @Test func `An alert is shown with its texts and actions, and the user's choice comes to the app`() async throws {
        try await run { rig, session in
            let answer = try await rig.register([
                "categories": [["id": "order", "actions": [["id": "take", "title": "Take it"]]]]
            ])
            let token = try required(answer["token"]?.string)
            let stream = rig.events()
            try await rig.send(
                #"{"aps":{"alert":{"title":"Order 7","subtitle":"Now","body":"<b>ready</b> & warm"},"category":"order","sound":"x"}}"#,
                to: token)
            let call = try await session.nextCall()
            #expect(
                call == [
                    "call": "Notify", "number": 1, "app": "Kiosk", "replaces": 0, "icon": "kiosk", "summary": "Order 7",
                    "body": "Now\n&lt;b&gt;ready&lt;/b&gt; &amp; warm", "timeout": -1, "urgency": 1, "silent": false,
                    "sound": "message-new-instant", "actions": ["default", "Open", "category:take", "Take it"],
                    "soundFile": "", "image": "", "entry": "", "thread": "",
                ])
            let shown = try await stream.next()[0]
            try session.signal("ActionInvoked", 1, "category:take")
            let responded = try await stream.next()[0]
            #expect(
                responded["event"] == "responded" && responded["action"] == "take" && responded["id"] == shown["id"])
            #expect(await rig.agent.state.centre.notifications.isEmpty)
        }
    }

    @Test func `A later one replaces the one with its collapse identifier; the app and the user remove it`()
        async throws
    {
        try await run { rig, session in
            let token = try await rig.token()
            let stream = rig.events()
            for score in ["1:0", "2:0"] {
                try await rig.send(
                    #"{"aps":{"alert":"\#(score)","interruption-level":"critical"}}"#, to: token,
                    headers: [("apns-collapse-id", "score")])
            }
            #expect(try await session.nextCall()["replaces"] == 0)
            let second = try await session.nextCall()
            #expect(second["replaces"] == 1 && second["summary"] == "Kiosk" && second["body"] == "2:0")
            #expect(second["urgency"] == 2 && second["silent"] == true)
            let events = try await stream.next(2)
            let id = try required(events[1]["id"]?.string)
            _ = try await rig.client.ask(.DELETE, rig.path + "/notifications/\(id)")
            #expect(try await session.nextCall() == ["call": "CloseNotification", "number": 1])
            try await rig.send(#"{"aps":{"alert":"third"}}"#, to: token)
            let third = try required(try await session.nextCall()["number"]?.int)
            #expect(try await stream.next()[0]["content"]?["body"] == "third")
            // The user dismisses it: reason 2.
            try session.signal("NotificationClosed", third, 2)
            #expect(try await stream.next()[0]["response"] == "dismiss")
        }
    }

    @Test func `What the app and the user do before the desktop has answered is not lost`() async throws {
        try await run { rig, session in
            let token = try await rig.token()
            let stream = rig.events()
            try await rig.send(#"{"aps":{"alert":"held"}}"#, to: token)
            let removed = try required(try await session.nextCall()["number"]?.int)
            let id = try required(try await stream.next()[0]["id"]?.string)
            _ = try await rig.client.ask(.DELETE, rig.path + "/notifications/\(id)")
            try session.answer()
            #expect(try await session.nextCall() == ["call": "CloseNotification", "number": .integer(removed)])

            try await rig.send(#"{"aps":{"alert":"held"}}"#, to: token)
            let opened = try required(try await session.nextCall()["number"]?.int)
            #expect(try await stream.next()[0]["event"] == "shown")
            try session.signal("ActionInvoked", opened, "default")
            try session.answer()
            #expect(try await stream.next()[0]["response"] == "open")
        }
    }

    @Test func `A notification has the app's image, sound and desktop file, and its thread`() async throws {
        try await withTemporaryPath { resources in
            try FileManager.default.createDirectory(atPath: resources, withIntermediateDirectories: true)
            try AgentRig.write("", to: resources + "/map of town.png")
            try AgentRig.write("", to: resources + "/bell.oga")
            try await run(#""desktop":"com.example.Kiosk","resources":"\#(resources)""#) { rig, session in
                let token = try await rig.token()
                try await rig.send(
                    #"{"aps":{"alert":"Here","sound":"bell.oga","thread-id":"town"},"image":"map of town.png"}"#,
                    to: token)
                let call = try await session.nextCall()
                #expect(call["soundFile"]?.string == resources + "/bell.oga" && call["sound"] == "")
                #expect(call["image"]?.string == "file://\(resources)/map%20of%20town.png")
                #expect(call["entry"] == "com.example.Kiosk" && call["thread"] == "town")
                // A provider cannot choose files outside the app's folder.
                try await rig.send(
                    #"{"aps":{"alert":"Here","sound":"../bell.oga"},"image":"/etc/passwd"}"#, to: token)
                let other = try await session.nextCall()
                #expect(other["soundFile"] == "" && other["sound"] == "message-new-instant" && other["image"] == "")
            }
        }
    }

    @Test func `A badge is shown beside the app's icon until the app removes it, also after a restart`() async throws {
        try await TestService.run { service in
            try await withAgentFolder { folder in
                try await DesktopSession.run(folder) { session in
                    let manifest = #"{"bundleID":"\#(service.bundleID)","desktop":"com.example.Kiosk"}"#
                    try await AgentRig.run(
                        on: service, folder: folder, manifest: manifest, desktopBus: session.address
                    ) { rig in
                        try await rig.send(#"{"aps":{"badge":3}}"#, to: try await rig.token())
                        #expect(try await session.nextCall() == update(3))
                    }
                    try await AgentRig.run(
                        on: service, folder: folder, manifest: manifest, desktopBus: session.address
                    ) { rig in
                        #expect(try await session.nextCall() == update(3))
                        _ = try await rig.client.ask(.PUT, rig.path + "/badge", ["badge": 0])
                        #expect(try await session.nextCall() == update(0))
                    }
                }
            }
        }
    }

    @Test func `The agent keeps no connection to a bus without a notification service`() async throws {
        try await withAgentFolder { folder in
            try await DesktopSession.runBus(folder) { address in
                let bus = "org.freedesktop.DBus"
                let (appeared, appear) = AsyncStream.makeStream(of: String.self)
                let own = try await BusConnection.open(address) { message, body in
                    var body = body
                    if message.member == "NameOwnerChanged", let name = body.text() { appear.yield(name) }
                }
                var match = BusMessage.call(bus, "/org/freedesktop/DBus", bus, "AddMatch")
                match.signature = "s"
                match.body.write("type='signal',interface='\(bus)',member='NameOwnerChanged'")
                _ = try await own.call(match)
                let desktop = DesktopNotifications(
                    address: address, languages: ["en"], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                ) { _, _ in }
                await desktop.setBadge(3, of: DesktopApp(name: "Kiosk", desktopEntry: "com.example.Kiosk"))
                /// The names of the bus's connections.
                func names() async throws -> [String] {
                    var answer = try await own.call(.call(bus, "/org/freedesktop/DBus", bus, "ListNames"))
                    return try required(answer.texts()).filter { $0.hasPrefix(":") }
                }
                try await wait(while: try await names().count != 1)
                own.close()
                appear.finish()
                #expect(await appeared.contains { $0.hasPrefix(":") })
            }
        }
    }

    /// The desktop's call that changes the number beside the icon.
    private func update(_ count: Int64) -> JSONValue {
        [
            "call": "Update", "app": "application://com.example.Kiosk.desktop", "count": .integer(count),
            "visible": .bool(count > 0),
        ]
    }

    @Test func `A badge disappears when the user switches badges off, and the app cannot set one`() async throws {
        try await run(#""desktop":"com.example.Kiosk""#) { rig, session in
            try await rig.send(#"{"aps":{"badge":3}}"#, to: try await rig.token())
            #expect(try await session.nextCall() == update(3))
            _ = try await rig.client.ask(.PUT, rig.path + "/settings", ["badges": false])
            #expect(try await session.nextCall() == update(0))
            _ = try await rig.client.ask(.PUT, rig.path + "/badge", ["badge": 4])
            #expect(try await session.nextCall() == update(0))
            _ = try await rig.client.ask(.PUT, rig.path + "/settings", ["badges": true])
            _ = try await rig.client.ask(.PUT, rig.path + "/badge", ["badge": 5])
            #expect(try await session.nextCall() == update(5))
        }
    }

    @Test func `The badge of a removed app disappears`() async throws {
        try await run(#""desktop":"com.example.Kiosk""#) { rig, session in
            try await rig.send(#"{"aps":{"badge":3}}"#, to: try await rig.token())
            #expect(try await session.nextCall() == update(3))
            _ = try await rig.client.ask(.DELETE, rig.path)
            #expect(try await session.nextCall() == update(0))
        }
    }

    @Test func `Nothing is shown of an app that is switched off, nor while the user does not want to be disturbed`()
        async throws
    {
        try await run { rig, session in
            let token = try await rig.token()
            _ = try await rig.client.ask(.PUT, "/v1/settings", ["doNotDisturb": true])
            try await rig.send(#"{"aps":{"alert":"quiet"}}"#, to: token)
            try await rig.send(#"{"aps":{"alert":"urgent","interruption-level":"time-sensitive"}}"#, to: token)
            #expect(try await session.nextCall()["body"] == "urgent")
            _ = try await rig.client.ask(.PUT, "/v1/settings", ["doNotDisturb": false])
            _ = try await rig.client.ask(.PUT, rig.path + "/settings", ["alerts": "off"])
            try await rig.send(#"{"aps":{"alert":"off"}}"#, to: token)
            _ = try await rig.client.ask(.PUT, rig.path + "/settings", ["alerts": "alert"])
            try await rig.send(#"{"aps":{"alert":"stays"}}"#, to: token)
            let last = try await session.nextCall()
            #expect(last["body"] == "stays" && last["timeout"] == 0)
        }
    }
}

/// The messages of D-Bus, and messages that cannot be.
struct BusMessageTests {
    private var sample: BusMessage {
        var message = BusMessage.call("org.example.Name", "/org/example", "org.example.Interface", "Member")
        message.serial = 7
        message.signature = "sas"
        message.body.write("text\0with a zero")
        message.body.writeArray(alignment: 4) { array in
            array.write("one")
            array.write("")
        }
        return message
    }

    @Test func `What is written can be read`() throws {
        let bytes = sample.bytes
        #expect(try BusMessage.length(of: bytes) == bytes.count)
        let read = try #require(BusMessage.read(bytes))
        #expect(read.message.member == "Member" && read.message.path == "/org/example" && read.message.serial == 7)
        #expect(read.message.destination == "org.example.Name" && read.message.signature == "sas")
        var body = read.body
        #expect(body.text() == "textwith a zero" && body.texts() == ["one", ""] && body.number() == nil)
    }

    @Test func `Bytes that end too early or were changed do no harm`() throws {
        let bytes = sample.bytes
        for count in 0..<bytes.count { #expect(BusMessage.read(Array(bytes[..<count])) == nil) }
        for index in bytes.indices {
            for value: UInt8 in [0, 1, 0x7f, 0xff] {
                var changed = bytes
                changed[index] = value
                guard var (_, body) = BusMessage.read(changed) else { continue }
                _ = body.text()
                _ = body.texts()
            }
        }
    }

    @Test func `A message that is too long is refused before it is read`() {
        var bytes = Array(sample.bytes.prefix(16))
        for index in 4..<8 { bytes[index] = 0x7f }
        #expect(throws: BusError.self) { try BusMessage.length(of: bytes) }
        #expect(throws: BusError.self) { try BusMessage.length(of: Array("HTTP/1.1 400 Bad Request".utf8)) }
    }

    @Test(
        arguments: [
            ("unix:path=/run/user/1000/bus", "/run/user/1000/bus"), ("unix:path=/a%20b,guid=1;tcp:host=x", "/a b"),
            ("tcp:host=x;unix:path=/b", "/b"), ("unix:abstract=/tmp/x", nil), ("", nil),
        ] as [(String, String?)])
    func `The path of the socket in an address`(_ address: String, _ path: String?) {
        #expect(BusConnection.path(in: address) == path)
    }
}
