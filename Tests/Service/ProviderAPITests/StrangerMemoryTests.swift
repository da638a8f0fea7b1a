import Foundation
import ProviderAPI
import Service
import Testing

@testable import ServiceTesting

/// What clients that show neither a certificate nor a provider token can make the service hold.
@Suite(.timeLimit(.minutes(4)), .serialized)
struct StrangerMemoryTests {
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
