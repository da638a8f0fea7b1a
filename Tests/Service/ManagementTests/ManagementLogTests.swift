import AsyncHTTPClient
import Foundation
import Management
import NIOCore
import NIOHTTP1
import Service
import Testing

@testable import ServiceTesting

/// The delivery log over the management API.
@Suite(.timeLimit(.minutes(2))) struct ManagementLogTests {
    private struct Entry: Decodable, Equatable {
        let event: String
        let id: String?
        let token: String?
        let topic: String?
        let time: UInt64
    }

    private static let ids = [
        "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002",
    ]

    /// Sends two notifications, each to an offline device of its own, and returns the device tokens.
    private func push(_ test: TestService) async throws -> [String] {
        let provider = try await test.connectProvider()
        var tokens: [String] = []
        for id in Self.ids {
            let token = try await test.makeDeviceToken()
            let headers = ProviderHeaders(token, token: try test.providerToken()).adding("apns-id", id)
            #expect(try await provider.send(headers.fields).status == 200)
            tokens.append(token)
        }
        await provider.close()
        return tokens
    }

    private func entries(_ query: String, _ test: TestService) async throws -> [Entry] {
        let answer = try await test.ask("GET", "/v1/log" + query)
        #expect(answer.status == 200)
        #expect(answer.headers.first(name: "content-type") == "application/x-ndjson")
        return try answer.text.split(separator: "\n").map {
            try JSONDecoder().decode(Entry.self, from: Data($0.utf8))
        }
    }

    @Test func `The log is filtered by notification, device token and team`() async throws {
        try await TestService.run { test in
            let tokens = try await push(test)
            // No wait is needed: events that were recorded before an answer are in the log after it.
            #expect(try await entries("?id=\(Self.ids[0])", test).map(\.event) == ["accepted", "stored"])
            #expect(try await entries("?token=\(tokens[1].uppercased())", test).allSatisfy { $0.id == Self.ids[1] })
            let team = try required(test.description.key).teamID
            #expect(try await entries("?team=\(team)", test).count == 4)
            #expect(try await entries("?team=NOSUCHTEAM", test).isEmpty)
            #expect(try await entries("?limit=3", test).count == 3)
            let last = try required(try await entries("", test).last)
            #expect(try await entries("?after=\(last.time)", test).isEmpty)
            #expect(try await test.ask("GET", "/v1/log?id=x").status == 400)
        }
    }

    /// The reader adds to both numbers of a position.
    @Test(arguments: ["1-1-9223372036854775807", "1-9223372036854775807-1", "1-281474976710657-0", "1-0-2147483648"])
    func `A position that no log can have is refused, and as a browser's last event it counts as none`(
        _ position: String
    ) async throws {
        try await TestService.run { test in
            _ = try await push(test)
            #expect(try await test.ask("GET", "/v1/log?after=\(position)").status == 400)
            let header = [("last-event-id", position), ("accept", "text/event-stream")]
            let whole = try await test.ask("GET", "/v1/log", headers: header)
            #expect(whole.status == 200)
            #expect(whole.text.components(separatedBy: "\"accepted\"").count == 3)
        }
    }

    @Test func `The log is followed as lines, and as events that can be continued`() async throws {
        try await TestService.run { test in
            let lines = Task {
                try await test.follow("/v1/log?follow=true") { text in
                    text.components(separatedBy: "\"stored\"").count > 2
                }
            }
            _ = try await push(test)
            #expect(try await lines.value.filter { $0.contains("accepted") }.count == 2)

            let accept = [("accept", "text/event-stream")]
            let events = try await test.follow("/v1/log?follow=true", headers: accept) { text in
                text.components(separatedBy: "data: ").count > 4 && text.hasSuffix("\n\n")
            }
            let marks = events.filter { $0.hasPrefix("id: ") }.map { $0.dropFirst(4) }
            #expect(marks.count == 4 && Set(marks).count == 4)
            for (index, mark) in marks.enumerated() {
                let again = try await test.ask(
                    "GET", "/v1/log", headers: accept + [("last-event-id", String(mark))])
                #expect(again.text.components(separatedBy: "data: ").count - 1 == 3 - index)
            }
        }
    }

    @Test func `A stream ends with the service`() async throws {
        try await TestService.run { test in
            let response = try await HTTPClient.shared.execute(
                try test.request("GET", "/v1/log?follow=true"), deadline: .distantFuture)
            #expect(response.status == .ok)
            test.stop()
            // The answer ends properly: a broken connection would throw.
            for try await _ in response.body {}
        }
    }
}
