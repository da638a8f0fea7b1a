import CommonTesting
import Foundation
import Service
import Testing

@testable import ServiceTesting

/// What `carillon device listen` prints, and that the service does not send these notifications again.
@Suite(.service(), .timeLimit(.minutes(2))) struct ListenCommandTests {
    private let bundleID = "com.example.app"

    private func listen<Result>(
        _ identity: String,
        bundleIDs: [String] = [],
        _ body: (ChildProcess) async throws -> Result,
    ) async throws -> Result {
        let service = try CarillonProcess.current
        let arguments = service.arguments("device", "listen", "--identity", identity)
        return try await ChildProcess.with(
            BuiltCommand.path, arguments + bundleIDs.flatMap { ["--bundle-id", $0] }, body)
    }

    private func nextObject(_ child: ChildProcess) async throws -> FoundationJSON {
        try FoundationJSON(await child.output.nextLine().orThrow("listen ended: \(child.errors.text)"))
    }

    @Test func `Prints each app it registers in order`() async throws {
        let service = try CarillonProcess.current
        let team = try service.developmentKey.teamID
        try await service.createApp("com.example.second", of: team)
        let identity = try await service.activate()
        let tokens = [
            bundleID: try await service.register(bundleID, on: identity),
            "com.example.second": try await service.register("com.example.second", on: identity),
        ]
        try await listen(identity, bundleIDs: ["com.example.second", bundleID]) { child in
            for name in ["com.example.second", bundleID] {
                let token = try #require(tokens[name])
                #expect(
                    try await nextObject(child)
                        == ["event": "registered", "bundleID": .string(name), "token": .string(token)])
            }
        }
    }

    @Test func `Prints what arrives`() async throws {
        let service = try CarillonProcess.current
        let identity = try await service.activate()
        try await listen(identity, bundleIDs: [bundleID]) { child in
            let token = try #require(try await nextObject(child)["token"]?.text)
            let answer = try await service.send(
                alert: "Hello", to: token, headers: [("apns-id", "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab")])
            #expect(answer.status == 200)
            #expect(
                try await nextObject(child) == [
                    "event": "notification",
                    "id": "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab",
                    "topic": .string(bundleID),
                    "bundleID": .string(bundleID),
                    "priority": 10,
                    "payload": ["aps": ["alert": "Hello"]],
                ])
        }
    }

    /// The line has every key of docs/device-protocol.md except `sending`.
    @Test func `Prints every key of the line`() async throws {
        let service = try CarillonProcess.current
        let identity = try await service.activate()
        let expiration = Provider.now + 3600
        try await listen(identity, bundleIDs: [bundleID]) { child in
            let token = try #require(try await nextObject(child)["token"]?.text)
            var push = try WirePush(token: token, topic: bundleID + ".voip", from: service.developmentProvider)
            push.headers += [
                ("apns-id", "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"), ("apns-expiration", "\(expiration)"),
                ("apns-priority", "10"), ("apns-collapse-id", "\"score\" \\ é"), ("apns-push-type", "voip"),
            ]
            push.payload(#"{"caller":"Jenna"}"#)
            #expect(try await service.send(push).status == 200)
            #expect(
                try await nextObject(child) == [
                    "event": "notification",
                    "id": "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab",
                    "topic": .string(bundleID + ".voip"),
                    "bundleID": .string(bundleID),
                    "priority": 10,
                    "expiration": .number(Double(expiration)),
                    "collapseID": "\"score\" \\ é",
                    "pushType": "voip",
                    "payload": ["caller": "Jenna"],
                ])
        }
    }

    @Test func `Ends well on SIGTERM`() async throws {
        let identity = try await CarillonProcess.current.activate()
        try await listen(identity, bundleIDs: [bundleID]) { child in
            _ = try await nextObject(child)
            child.signal(SIGTERM)
            let finished = await child.finished()
            #expect(finished.status == 0)
            #expect(try finished.objects.count == 1)
        }
    }

    @Test func `What was printed is not printed again after SIGTERM`() async throws {
        let service = try CarillonProcess.current
        // A second app's notification is the marker: if it comes first, the first app's mailbox is empty.
        let team = try service.developmentKey.teamID
        try await service.createApp("com.example.marker", of: team)
        let identity = try await service.activate()
        let marker = try await service.register("com.example.marker", on: identity)
        let token = try await service.register(bundleID, on: identity)
        #expect(try await service.send(alert: "Once", to: token).status == 200)
        try await listen(identity) { child in
            try await child.expectNext(alert: "Once")
            child.signal(SIGTERM)
            #expect(await child.finished().status == 0)
        }
        #expect(try await service.send(alert: "Marker", to: marker, topic: "com.example.marker").status == 200)
        try await listen(identity) { child in
            try await child.expectNext(alert: "Marker")
            #expect(try await service.send(alert: "Last", to: marker, topic: "com.example.marker").status == 200)
            try await child.expectNext(alert: "Last")
        }
    }

    @Test func `A second listen takes over and the first ends`() async throws {
        let service = try CarillonProcess.current
        let identity = try await service.activate()
        try await listen(identity, bundleIDs: [bundleID]) { first in
            let token = try #require(try await nextObject(first)["token"]?.text)
            // After its first line the command listens.
            #expect(try await service.send(alert: "First", to: token).status == 200)
            _ = try await nextObject(first)
            try await listen(identity, bundleIDs: [bundleID]) { second in
                _ = try await nextObject(second)
                let finished = await first.finished()
                #expect(finished.status != 0)
                #expect(finished.errors.contains("taken over"))
            }
        }
    }

    @Test func `An identity that is none is refused`() async throws {
        let service = try CarillonProcess.current
        let finished = try await service.carillon("device", "listen", "--identity", service.ready.ca)
        #expect(finished.status != 0)
        #expect(finished.output.isEmpty)
        #expect(finished.errors.contains(service.ready.ca))
    }
}
