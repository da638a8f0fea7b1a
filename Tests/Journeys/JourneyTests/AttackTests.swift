import CommonTesting
import Foundation
import NIOCore
import Notifications
import Testing

@testable import ServiceTesting

/// Floods and bombs against the whole service: the attacker is cut off, others are served, and memory stays limited.
@Suite(
    .service(environment: [
        "CARILLON_LIMIT_PROVIDER_CONNECT_RATE": "0", "CARILLON_LIMIT_TOKEN_RATE": "0",
        "CARILLON_LIMIT_REQUEST_TIMEOUT": "1", "CARILLON_LIMIT_HANDSHAKE_TIMEOUT": "1",
    ]), .serialized, .timeLimit(.minutes(3)))
struct AttackTests {
    /// How much memory may grow, in KiB: for the buffers of a few connections, and for what the allocator keeps.
    private static let allowedGrowth = 64 * 1024

    private func residentKiB() throws -> Int {
        let status = try String(
            contentsOfFile: "/proc/\(CarillonProcess.current.child.processID)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(Int(line.filter(\.isNumber)))
    }

    @Test(arguments: Attack.all, StrangePeerTests.Listener.allCases)
    func `Is cut off while others are served`(attack: Attack, listener: StrangePeerTests.Listener) async throws {
        let service = try CarillonProcess.current
        let token = try await service.register("com.example.app", on: try await service.activate())
        let address = try listener.address(of: service)
        #expect(try await service.send(alert: "Before", to: token).status == 200)
        let before = try residentKiB()
        async let first = attack.run(against: address)
        async let second = attack.run(against: address)
        #expect(try await service.send(alert: "Meanwhile", to: token).status == 200)
        for channel in [try await first, try await second] where attack.isEnded {
            try? await channel.closeFuture.get()  // Only that it ended matters.
        }
        #expect(try await service.send(alert: "Still", to: token).status == 200)
        #expect(try residentKiB() - before < Self.allowedGrowth)
        for channel in [try await first, try await second] { try? await channel.close() }
    }

    /// Incomplete connections: TCP only, half a handshake, TLS without HTTP/2, HTTP/2's preface without its settings.
    @Test(
        arguments: ["silence", "half a ClientHello", "silence over TLS", "the preface alone"],
        StrangePeerTests.Listener.allCases)
    func `Connections that are half open keep nobody out`(
        name: String, listener: StrangePeerTests.Listener
    ) async throws {
        let service = try CarillonProcess.current
        let token = try await service.register("com.example.app", on: try await service.activate())
        let peer = try #require(StrangePeer.all.first { $0.testDescription == name })
        let before = try residentKiB()
        var channels: [any Channel] = []
        for _ in 0..<100 { channels.append(try await peer.connect(to: try listener.address(of: service)).channel) }
        #expect(try await service.send(alert: "Meanwhile", to: token).status == 200)
        for channel in channels { try? await channel.closeFuture.get() }  // Only that it ended matters.
        #expect(try residentKiB() - before < Self.allowedGrowth)
    }
}
