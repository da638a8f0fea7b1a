import Foundation
import ProviderAPI
import Service
import Testing

@testable import ServiceTesting

/// What clients that show neither a certificate nor a provider token can make the service hold.
@Suite(.timeLimit(.minutes(4)), .serialized)
struct StrangerMemoryTests {
    private static let large = ProviderHeaders("00", token: nil).with("x-padding", String(repeating: "p", count: 900))
        .fields

    /// The resident memory of this process, in bytes.
    private static func resident() throws -> Int {
        let statm = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return try required(Int(try required(statm.dropFirst().first))) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    #if os(Linux)
        /// NIOSSL collects what comes in one buffer, and keeps it: with large reads, each of these connections held 0.6 MB.
        @Test(arguments: [true, false])
        func `A burst of a megabyte leaves little behind`(isAcknowledged: Bool) async throws {
            try await TestService.run { test in
                var clients: [HandmadeClient] = []
                for _ in 0..<60 {
                    let client = try await HandmadeClient(test)
                    if isAcknowledged { try await client.ping() }
                    clients.append(client)
                }
                let before = try Self.resident()
                for client in clients {
                    try await client.burst(1_000, Self.large)
                    if isAcknowledged { try await client.ping() }
                }
                try await test.metricsSay(isAcknowledged ? "concurrent-streams" : "request-timeout")
                let grown = try Self.resident() - before
                // The clients are in the same process. Without the limit it was 40 MB for the service alone.
                #expect(grown < 24 << 20, "\(grown)")
                for client in clients { await client.close() }
            }
        }
    #endif

    @Test func `Answers that a client does not read are limited, and its connection ends`() async throws {
        try await TestService.run { test in
            let client = try await HandmadeClient(test, settings: [(4, 0x7fff_ffff)])
            try await client.openWindow(0x7fff_ffff - 65_535)
            try await client.stopReading()
            while (try? await client.burst(200, ProviderHeaders("00", token: nil).fields, endStream: true)) != nil {}
            try await test.metricsSay("untrusted-requests")
        }
    }

    @Test func `A field block that is not complete counts, and ends the connection if there is no room`() async throws {
        try await TestService.run {
            $0.provider.untrustedRequests = 40
        } _: { test in
            let client = try await HandmadeClient(test)
            try await client.beginHalf([])
            // Its connection may end before all of it was sent.
            try? await client.continueHalf(8, bytes: 16_000)
            await client.ended()
            try await test.metricsSay("untrusted-requests")
        }
    }
}
