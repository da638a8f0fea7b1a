import CommonTesting
import Foundation
import Service
import Testing

@testable import ServiceTesting

/// `carillon device listen --json --as-app`: it prints what the apps are told and the user sees, one event on each
/// line.
@Suite(.service(), .timeLimit(.minutes(2))) struct ListenAsAppTests {
    private let bundleID = "com.example.app"
    private let id = "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"

    /// A device that listens, and its app's device token.
    private struct Listening {
        let service: CarillonProcess
        let child: ChildProcess
        let token: String

        func next() async throws -> FoundationJSON {
            try FoundationJSON(await child.output.nextLine().orThrow("listen ended: \(child.errors.text)"))
        }

        /// Expects the next events, by their names and some of their keys.
        func next(_ event: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> FoundationJSON {
            let line = try await next()
            #expect(line["event"] == .string(event), "\(line)", sourceLocation: sourceLocation)
            return line
        }

        func send(_ payload: String, suffix: String = "", headers: [(name: String, value: String)] = []) async throws {
            let topic = "com.example.app" + suffix
            var push = try WirePush(token: token, topic: topic, from: service.developmentProvider)
            push.headers += headers
            push.payload(payload)
            let answer = try await service.send(push)
            #expect(answer.status == 200, "\(answer)")
        }
    }

    private func listen(_ options: String..., body: (Listening) async throws -> Void) async throws {
        let service = try CarillonProcess.current
        let identity = try await service.activate()
        let token = try await service.register(bundleID, on: identity)
        // A device that is awake gets silent notifications at once.
        let arguments =
            service.arguments("device", "listen", "--as-app", "--identity", identity, "--bundle-id", bundleID)
            + ["--power", "awake"] + options
        try await ChildProcess.with(BuiltCommand.path, arguments, staysOpen: true) { child in
            try await body(Listening(service: service, child: child, token: token))
        }
    }

    @Test func `An alert in the background is shown in the users language`() async throws {
        try await withTemporaryFolder { folder in
            try FileManager.default.createDirectory(atPath: folder + "/de.lproj", withIntermediateDirectories: true)
            try #""HELLO" = "Hallo, %@";"#.write(
                toFile: folder + "/de.lproj/Localizable.strings", atomically: true, encoding: .utf8)
            try #"[{"id":"MSG","actions":[{"id":"reply","title":"Reply"}]}]"#.write(
                toFile: folder + "/categories", atomically: true, encoding: .utf8)
            try FileManager.default.createDirectory(atPath: folder + "/sounds", withIntermediateDirectories: true)
            try await listen(
                "--strings", folder, "--language", "de-CH", "--categories", folder + "/categories", "--sounds",
                folder + "/sounds"
            ) { listening in
                _ = try await listening.next("registered")
                let payload = #"""
                    {"aps":{"alert":{"loc-key":"HELLO","loc-args":["Jenna"],"launch-image":"L"},"badge":2,\#
                    "sound":"missing.aiff","category":"MSG","target-content-id":"W","relevance-score":0.5,\#
                    "filter-criteria":"F"}}
                    """#
                try await listening.send(payload, headers: [("apns-id", id), ("apns-collapse-id", "c")])
                let shown = try await listening.next("shown")
                #expect(shown["id"] == .string(id) && shown["collapseID"] == "c" && shown["style"] == "banner")
                #expect(shown["actions"] == [["id": "reply", "title": "Reply", "opensApp": .bool(false)]])
                #expect(
                    shown["content"] == [
                        "body": "Hallo, Jenna", "badge": 2, "category": "MSG", "launchImage": "L",
                        "targetContentID": "W", "filterCriteria": "F", "interruptionLevel": "active",
                        "relevanceScore": .number(0.5),
                        // The app has no such file (Guide, Table 9-1).
                        "sound": ["name": "default", "critical": .bool(false), "volume": 1],
                    ])
                #expect(try await listening.next("badge")["badge"] == 2)
                #expect(try await listening.next("sound")["sound"]?["name"] == "default")
                try listening.child.type("o")
                let opened = try await listening.next("opened")
                #expect(opened["launchImage"] == "L" && opened["targetContentID"] == "W")
                #expect(try await listening.next("languages")["languages"] == ["de-CH"])
                let responded = try await listening.next("responded")
                #expect(responded["response"] == "open" && responded["id"] == .string(id))
            }
        }
    }

    @Test func `A silent one wakes the app`() async throws {
        try await listen { listening in
            _ = try await listening.next("registered")
            try await listening.send(#"{"aps":{"content-available":1},"n":1}"#)
            let woken = try await listening.next("woken")
            #expect(woken["result"] == "newData" && woken["payload"]?["n"] == 1)
        }
    }

    @Test(arguments: [
        ("voip", ".voip"), ("complication", ".complication"), ("liveactivity", ".push-type.liveactivity"),
        ("location", ".location-query"),
    ])
    func `A push of another service reaches it`(_ service: String, _ suffix: String) async throws {
        try await listen { listening in
            _ = try await listening.next("registered")
            try await listening.send(#"{"n":1}"#, suffix: suffix, headers: [("apns-push-type", service)])
            let pushed = try await listening.next("pushed")
            #expect(pushed["service"] == .string(service) && pushed["topic"] == .string(bundleID + suffix))
            #expect(pushed["payload"] == ["n": 1])
        }
    }

    @Test func `The app in the foreground is given it`() async throws {
        try await listen("--state", "foreground") { listening in
            _ = try await listening.next("registered")
            _ = try await listening.next("languages")
            try await listening.send(#"{"aps":{"alert":"Hello"}}"#)
            let received = try await listening.next("received")
            #expect(received["state"] == "foreground" && received["content"]?["body"] == "Hello")
        }
    }

    @Test func `An app that the user ended is shown and not woken`() async throws {
        try await listen("--state", "force-quit") { listening in
            _ = try await listening.next("registered")
            try await listening.send(#"{"aps":{"alert":"Hello"}}"#)
            #expect(try await listening.next("shown")["content"]?["body"] == "Hello")
            try await listening.send(#"{"aps":{"content-available":1}}"#)
            #expect(try await listening.next("dropped")["reason"] == "force-quit")
        }
    }

    @Test func `The users settings decide`() async throws {
        try await listen("--alerts", "off", "--no-badges") { listening in
            _ = try await listening.next("registered")
            try await listening.send(#"{"aps":{"alert":"Hello","badge":1,"sound":"ping"}}"#)
            #expect(try await listening.next("sound")["sound"]?["name"] == "ping")
            try await listening.send(#"{"aps":{"alert":"Hello","badge":1}}"#)
            #expect(try await listening.next("dropped")["reason"] == "switched-off")
        }
    }

    @Test func `Keys from a pipe change the apps state`() async throws {
        try await listen("--language", "en", "--language", "de") { listening in
            _ = try await listening.next("registered")
            func press(_ keys: String, _ state: String) async throws {
                try listening.child.type(keys)
                #expect(try await listening.next("state")["state"] == .string(state))
            }
            try listening.child.type("f\n")
            #expect(try await listening.next("languages")["languages"] == ["en", "de"])
            #expect(try await listening.next("state")["state"] == "foreground")
            try listening.child.type("l")
            #expect(try await listening.next("languages")["languages"] == ["de", "en"])
            try await press("b", "background")
            try await press("k", "force-quit")
            try await press("n", "never-launched")
            try await listening.send(#"{"aps":{"alert":"Hello"}}"#)
            #expect(try await listening.next("dropped")["reason"] == "never-launched")
            try listening.child.type("S")
            #expect(try await listening.next("settings")["sounds"] == .bool(false))
            try await press("r", "removed")
            let answer = try await listening.service.send(alert: "Gone", to: listening.token)
            #expect(answer.status == 410)
            try listening.child.type("q")
            #expect(await listening.child.finished().status == 0)
        }
    }

    @Test func `It goes with JSON`() async throws {
        let finished = try await BuiltCommand.run(["device", "listen", "--as-app", "--identity", "a"])
        #expect(finished.status == 64 && finished.errors.contains("--json"))
    }

    @Test(arguments: [["--state", "asleep"], ["--alerts", "loud"], ["--power", "full"]])
    func `Words that are none`(_ options: [String]) async throws {
        let finished = try await BuiltCommand.run(["device", "listen", "--identity", "a"] + options)
        #expect(finished.status == 64 && finished.errors.contains(options[1]))
    }
}
