import CommonTesting
import Foundation
import Storage
import Testing

@testable import DeviceAgent

/// What the agent keeps on the disk.
struct AgentStoreTests {
    private func withStore(_ body: (AgentStore, String) async throws -> Void) async throws {
        try await withTemporaryPath { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try await body(try AgentStore(folder: path), path)
        }
    }

    private func numbers(_ store: AgentStore, _ bundleID: String, after: Int64 = 0) throws -> [Int64] {
        try store.events(of: bundleID, after: after, limit: 10_000).map(\.delivery)
    }

    @Test func `A commit is on the disk before it returns`() async throws {
        try await withStore { store, _ in
            let synchronous = try store.synchronous
            // FULL (https://www.sqlite.org/pragma.html#pragma_synchronous).
            #expect(synchronous == 2)
        }
    }

    @Test func `Events stay until they are handled, and their numbers are not used again`() async throws {
        try await withStore { store, path in
            _ = try store.add([#"{"event":"a"}"#, #"{"event":"b"}"#], of: "one", from: "N1")
            _ = try store.add([#"{"event":"c"}"#], of: "two", from: "N2")
            #expect(try numbers(store, "one") == [1, 2])
            #expect(
                try store.events(of: "one", after: 0, limit: 1)[0].line
                    == Array("{\"delivery\":1,\"event\":\"a\"}\n".utf8))
            // An app cannot handle the events of another one.
            #expect(try store.remove([1, 3], of: "one") == 1)
            #expect(try numbers(store, "two") == [3])
            _ = try store.remove([3], of: "two")
            let again = try AgentStore(folder: path)
            _ = try again.add([#"{"event":"d"}"#], of: "two")
            #expect(try numbers(again, "two") == [4])
            #expect(try numbers(again, "one") == [2])
        }
    }

    @Test func `A full queue loses its oldest events, and no other app's`() async throws {
        try await withStore { store, _ in
            _ = try store.add(["{}"], of: "other")
            for _ in 0..<AgentLimits.queuedEvents / 50 {
                #expect(try store.add(Array(repeating: "{}", count: 50), of: "full") == 0)
            }
            #expect(try store.add(["{}", "{}"], of: "full") == 2)
            #expect(try numbers(store, "full").first == 4)
            #expect(try store.counts() == ["full": AgentLimits.queuedEvents, "other": 1])
        }
    }

    @Test func `A queue of long events loses its oldest ones, but never the newest`() async throws {
        try await withStore { store, _ in
            let long = "{" + String(repeating: " ", count: AgentLimits.queuedBytes / 4) + "}"
            for _ in 0..<3 { _ = try store.add([long], of: "long") }
            #expect(try numbers(store, "long").first == 1)
            #expect(try store.add([long], of: "long") == 1)
            #expect(try numbers(store, "long") == [2])
            #expect(try numbers(store, "long", after: 3) == [4])
            let longer = String(repeating: long, count: 5)
            #expect(try store.add([longer], of: "long") == 3)
            #expect(try numbers(store, "long") == [5])
        }
    }

    @Test func `A page has so many bytes, and one event at least`() async throws {
        try await withStore { store, _ in
            let half = "{" + String(repeating: " ", count: AgentLimits.pageBytes / 2 - 2) + "}"
            _ = try store.add([half, half, "{}", half + half + half, "{}"], of: "one")
            #expect(try numbers(store, "one") == [1, 2])
            #expect(try numbers(store, "one", after: 2) == [3])
            #expect(try numbers(store, "one", after: 3) == [4])
            #expect(try numbers(store, "one", after: 4) == [5])
        }
    }

    @Test func `A badge stays until it is 0, or its app is removed`() async throws {
        try await withStore { store, path in
            _ = try store.add(["{}"], of: "one", from: "N1", badge: 3)
            try store.keepBadge(2, of: "two")
            #expect(try AgentStore(folder: path).badges() == ["one": 3, "two": 2])
            try store.removeApp("one")
            _ = try store.add([], of: "two", from: "N2", badge: 0)
            #expect(try store.badges().isEmpty)
        }
    }

    @Test func `An app whose badges are switched off has no badge`() async throws {
        try await withStore { store, _ in
            var record = AppRecord(registration: AppRegistration(), token: "abc", services: [:])
            try store.keepBadge(3, of: "one")
            try store.keepBadge(3, of: "two")
            try store.keep(record, of: "two")
            record.settings = AppSettingsDocument(badges: false)
            try store.keep(record, of: "one")
            #expect(try store.badges() == ["two": 3])
        }
    }

    @Test func `The newest notifications are remembered, also those that gave no event`() async throws {
        try await withStore { _, path in
            let store = try AgentStore(folder: path, seenNotifications: 3)
            _ = try store.add([], of: "one", from: "first")
            #expect(store.hasSeen("first"))
            _ = try store.add(["{}"], of: "one", from: "first")
            #expect(try store.counts().isEmpty)
            for number in 1...3 { _ = try store.add([], of: "one", from: "\(number)") }
            #expect(!store.hasSeen("first"))
            #expect(store.hasSeen("1"))
        }
    }

    @Test func `A command is tried so often for an event, and then for the next one`() async throws {
        try await withStore { store, _ in
            _ = try store.add(["{}", "{}"], of: "one")
            for attempt in 0..<AgentLimits.attempts {
                let event = try #require(try store.eventToTry(of: "one"))
                #expect(event.delivery == 1 && event.attempts == attempt)
                try store.countAttempt(1)
            }
            #expect(try store.eventToTry(of: "one")?.delivery == 2)
            #expect(try numbers(store, "one") == [1, 2])
        }
    }

    @Test(arguments: ["no database at all", ""])
    func `A damaged database is put aside`(_ contents: String) async throws {
        try await withStore { store, path in
            _ = try store.add(["{}"], of: "one")
        }
        try await withTemporaryPath { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            let file = path + "/" + AgentStore.fileName
            try Data((contents + String(repeating: "x", count: 5000)).utf8).write(to: URL(fileURLWithPath: file))
            let store = try AgentStore(folder: path)
            let damaged = try #require(store.damaged)
            #expect(FileManager.default.fileExists(atPath: damaged))
            _ = try store.add(["{}"], of: "one")
            #expect(try AgentStore(folder: path).damaged == nil)
        }
    }

    @Test func `A removed app leaves nothing but its name, until the service knows`() async throws {
        try await withStore { store, _ in
            let record = AppRecord(registration: AppRegistration(), token: "abc", services: [:])
            try store.keep(record, of: "one")
            _ = try store.add(["{}"], of: "one")
            try store.removeApp("one")
            #expect(try store.records().isEmpty)
            #expect(try store.counts().isEmpty)
            #expect(try store.removedApps() == ["one"])
            try store.keep(record, of: "one")
            #expect(try store.removedApps() == [])
            #expect(try store.records() == ["one": record])
        }
    }
}
