import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// `carillon device fleet`: many devices in one process.
/// Each test has its own service, because all fleets of one data folder use the same devices.
@Suite(.timeLimit(.minutes(3))) struct FleetCommandTests {
    private let bundleID = "com.example.app"

    private func fleet<Result>(
        _ arguments: String...,
        body: (ChildProcess) async throws -> Result,
    ) async throws -> Result {
        let service = try CarillonProcess.current
        let all = ["device", "fleet", "--bundle-id", bundleID, "--data", service.data, "--json"] + arguments
        return try await ChildProcess.with(BuiltCommand.path, all, body)
    }

    private func next(_ child: ChildProcess) async throws -> FoundationJSON {
        try FoundationJSON(await child.output.nextLine().orThrow("fleet ended: \(child.errors.text)"))
    }

    /// Reads totals until they meet the condition.
    private func totals(_ child: ChildProcess, _ isMet: (FoundationJSON) -> Bool) async throws -> FoundationJSON {
        while true {
            let line = try await next(child)
            if line["event"] == "totals", isMet(line) { return line }
        }
    }

    private func tokens(_ path: String) throws -> [String] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    @Test(.service()) func `Says that all are connected and ends with totals`() async throws {
        try await fleet("--count", "20", "--duration", "0") { child in
            let finished = await child.finished()
            #expect(finished.status == 0, "\(finished.errors)")
            let objects = try finished.objects
            #expect(objects.first == ["event": "connected", "count": 20])
            let last = try #require(objects.last)
            #expect(last["event"] == "totals" && last["last"] == .bool(true))
            #expect(last["latency"]?["connect"]?["count"] == 20)
            #expect(last["latency"]?["connect"]?.keys == ["count", "p50", "p90", "p99", "p999", "max"])
        }
    }

    @Test(.service()) func `The same devices come again`() async throws {
        try await withTemporaryFolder { folder in
            for (name, count) in [("a", "5"), ("b", "8")] {
                try await fleet("--count", count, "--duration", "0", "--tokens", "\(folder)/\(name)") { child in
                    #expect(await child.finished().status == 0)
                }
            }
            let (first, second) = (try tokens(folder + "/a"), try tokens(folder + "/b"))
            #expect(Set(second).count == 8)
            #expect(Array(second.prefix(5)) == first)
            #expect(try permissions(ofFile: CarillonProcess.current.data + "/fleet/development.pem") == 0o600)
        }
    }

    @Test(.service()) func `Every notification arrives and is acknowledged`() async throws {
        let service = try CarillonProcess.current
        try await withTemporaryFolder { folder in
            try await fleet("--count", "10", "--interval", "0.1", "--tokens", folder + "/tokens") { child in
                #expect(try await next(child) == ["event": "connected", "count": 10])
                for token in try tokens(folder + "/tokens") {
                    #expect(try await service.send(alert: "Hello", to: token).status == 200)
                }
                let line = try await totals(child) { $0["acknowledged"] == 10 }
                // A notification comes again if its acknowledgement was late, as on a busy machine.
                guard case (.number(let received)?, .number(let again)?) = (line["received"], line["duplicates"]) else {
                    Issue.record("The totals are \(line)")
                    return
                }
                #expect(received - again == 10 && line["failures"] == 0)
                child.signal(SIGTERM)
                let finished = await child.finished()
                #expect(finished.status == 0)
                #expect(try finished.objects.last?["last"] == .bool(true))
            }
        }
    }

    @Test(.service()) func `A fleet that subscribes gets each broadcast on all its devices once`() async throws {
        let service = try CarillonProcess.current
        func carillon(_ arguments: String...) async throws -> FoundationJSON {
            let result = try await BuiltCommand.run(
                arguments + ["--bundle-id", bundleID, "--data", service.data, "--json"])
            try #require(result.status == 0, "\(result.errors)")
            return try result.object
        }
        var channels: [String] = []
        for policy in ["0", "1"] {
            let made = try await carillon("channel", "create", "--message-storage-policy", policy)
            channels.append(try #require(made["channelID"]?.text))
        }
        // The stored one waits for the fleet.
        func broadcast(_ score: Int, to channel: String) async throws {
            _ = try await carillon(
                "broadcast", "--channel", channel, "--content-state", #"{"score":\#(score)}"#, "--expiration",
                channel == channels[1] ? "4000000000" : "0")
        }
        try await broadcast(0, to: channels[1])
        try await fleet("--count", "300", "--interval", "0.1", "--channel", channels[0], "--channel", channels[1]) {
            child in
            #expect(try await next(child) == ["event": "connected", "count": 300])
            _ = try await totals(child) { $0["acknowledged"] == 300 }
            for channel in channels {
                let shown = try await carillon("channel", "read", channel)
                #expect(shown["connectedSubscribers"] == 300)
                try await broadcast(1, to: channel)
            }
            let line = try await totals(child) { $0["acknowledged"] == 900 }
            #expect(line["received"] == 900 && line["duplicates"] == 0 && line["failures"] == 0)
            #expect(line["latency"]?["acknowledgement"]?["count"] == 900)
            child.signal(SIGTERM)
            #expect(await child.finished().status == 0)
        }
        // Each device has acknowledged the newest one, so it does not come again.
        try await fleet("--count", "300", "--interval", "0.1", "--channel", channels[1]) { child in
            #expect(try await next(child) == ["event": "connected", "count": 300])
            try await broadcast(2, to: channels[1])
            let line = try await totals(child) { $0["acknowledged"] == 300 }
            #expect(line["received"] == 300)
            child.signal(SIGTERM)
            #expect(await child.finished().status == 0)
        }
    }

    @Test(.service()) func `The share that is offline gets its notifications later`() async throws {
        let service = try CarillonProcess.current
        try await withTemporaryFolder { folder in
            try await fleet("--count", "10", "--offline", "0.4", "--tokens", folder + "/tokens") { child in
                #expect(try await next(child) == ["event": "connected", "count": 6])
                for token in try tokens(folder + "/tokens") {
                    #expect(try await service.send(alert: "Hello", to: token).status == 200)
                }
                child.signal(SIGTERM)
                #expect(await child.finished().status == 0)
            }
            // Now all ten devices connect, and get the stored notifications.
            try await fleet("--count", "10", "--interval", "0.1") { child in
                _ = try await totals(child) { ($0["acknowledged"]?.number ?? 0) >= 4 }
            }
        }
    }

    @Test(.service()) func `Devices that lose their connection come again`() async throws {
        try await fleet("--count", "10", "--reconnects-per-minute", "6000", "--interval", "0.1") { child in
            let line = try await totals(child) { ($0["reconnects"]?.number ?? 0) >= 20 }
            #expect(line["failures"] == 0)
        }
    }

    @Test(.service()) func `A second fleet on the same folder is refused`() async throws {
        let service = try CarillonProcess.current
        let other = ["device", "fleet", "--bundle-id", bundleID, "--data", service.data, "--json", "--count", "3"]
        try await fleet("--count", "3", "--interval", "0.1") { child in
            #expect(try await next(child) == ["event": "connected", "count": 3])
            let refused = try await BuiltCommand.run(other)
            #expect(refused.status == 1)
            #expect(refused.output.isEmpty)
            #expect(refused.errors.contains("A fleet is already running with the devices of this data folder"))
            // The fleet that runs is not affected.
            let line = try await totals(child) { _ in true }
            #expect(line["connected"] == 3 && line["failures"] == 0)
            child.signal(SIGTERM)
            #expect(await child.finished().status == 0)
        }
        let again = try await BuiltCommand.run(other + ["--duration", "0"])
        #expect(again.status == 0)
    }

    @Test(.service()) func `An identity that was cut off is made anew`() async throws {
        let service = try CarillonProcess.current
        try await fleet("--count", "3", "--duration", "0") { child in
            #expect(await child.finished().status == 0)
        }
        let path = service.data + "/fleet/development.pem"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        try String(text.dropLast(700)).write(toFile: path, atomically: false, encoding: .utf8)
        try await fleet("--count", "4", "--duration", "0") { child in
            let finished = await child.finished()
            #expect(finished.status == 0, "\(finished.errors)")
            let objects = try finished.objects
            #expect(objects.first == ["event": "connected", "count": 4])
        }
    }

    @Test(
        .service(),
        arguments: [
            ["--count", "0"], ["--count", "100001"], ["--count", "1", "--offline", "1.5"],
            ["--count", "1", "--interval", "0"], ["--count", "1", "--acknowledgement-delay", "-1"],
            ["--count", "1", "--reconnects-per-minute", "-1"],
        ])
    func `Options that cannot be`(_ arguments: [String]) async throws {
        let service = try CarillonProcess.current
        let finished = try await BuiltCommand.run(
            ["device", "fleet", "--bundle-id", bundleID, "--data", service.data] + arguments)
        #expect(finished.status == 64)
        #expect(finished.output.isEmpty)
    }
}
