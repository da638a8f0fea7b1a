import APNSDevice
import CommonTesting
import Foundation
import Testing

@testable import DeviceAgent

/// The registrations of UnifiedPush and their messages on the disk.
struct ConnectorStoreTests {
    private func withStore(_ body: (AgentStore) throws -> Void) async throws {
        try await withTemporaryPath { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            let store = try AgentStore(folder: path)
            try store.keep(
                Connector(
                    subscription: "up-1", service: "org.example.Chat", token: "T1", version: .two,
                    endpoint: "https://e/1"))
            try body(store)
        }
    }

    private func message(_ text: String, for subscription: String = "up-1", topic: String? = nil) -> WebPushMessage {
        WebPushMessage(subscription: subscription, body: Array(text.utf8), topic: topic)
    }

    /// The bodies that wait, in their order. It removes them.
    private func bodies(_ store: AgentStore) throws -> [String] {
        var bodies: [String] = []
        while let message = try store.nextMessage(of: "up-1") {
            bodies.append(String(decoding: message.body, as: UTF8.self))
            try store.removeMessage(message.number)
        }
        return bodies
    }

    @Test func `Messages stay in their order, none is there twice, and none without a registration`() async throws {
        try await withStore { store in
            for (id, text) in [("A", "one"), ("B", "two"), ("A", "one")] {
                #expect(try store.add(message(text), id: id) == 0)
            }
            _ = try store.add(message("lost", for: "up-2"), id: "C")
            #expect(try store.messageCount() == 2)
            #expect(try bodies(store) == ["one", "two"])
        }
    }

    @Test func `A message replaces the one with its topic and comes last`() async throws {
        try await withStore { store in
            _ = try store.add(message("one", topic: "t"), id: "A")
            _ = try store.add(message("two"), id: "B")
            _ = try store.add(message("three", topic: "t"), id: "C")
            #expect(try bodies(store) == ["two", "three"])
        }
    }

    @Test func `Beyond 100 messages or 256 KiB the oldest goes, and the newest stays`() async throws {
        try await withStore { store in
            for number in 1...AgentLimits.connectorMessages {
                #expect(try store.add(message("\(number)"), id: "\(number)") == 0)
            }
            #expect(try store.add(message("more"), id: "more") == 1)
            let kept = try bodies(store)
            #expect(kept.count == AgentLimits.connectorMessages && kept.first == "2" && kept.last == "more")
            let large = String(repeating: "x", count: 4096)
            for number in 1...64 { #expect(try store.add(message(large), id: "L\(number)") == 0) }
            #expect(try store.add(message("x"), id: "X") == 1)
            #expect(try store.messageCount() == 64)
        }
    }

    @Test func `The end of a registration removes its messages`() async throws {
        try await withStore { store in
            _ = try store.add(message("one"), id: "A")
            try store.removeConnector("up-1")
            #expect(try store.messageCount() == 0 && store.connectors().isEmpty)
        }
    }

    @Test func `A subscription's name depends on user, bus name and token, and on where one ends`() {
        func name(_ user: UInt32, _ service: String, _ token: String) -> String {
            Connector.subscription(user: user, service: service, token: token)
        }
        let names = [
            name(1, "org.a", "T"), name(2, "org.a", "T"), name(1, "org.b", "T"), name(1, "org.a", "U"),
            name(1, "org.aT", ""), name(11, "rg.a", "T"),
        ]
        #expect(Set(names).count == names.count)
        #expect(names.allSatisfy { $0.utf8.count <= AgentLimits.subscriptionNameBytes && $0.hasPrefix("up-") })
        #expect(name(1, "org.a", "T") == names[0])
    }
}
