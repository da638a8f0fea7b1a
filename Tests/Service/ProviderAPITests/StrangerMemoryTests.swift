import Foundation
import ProviderAPI
import Service
import Testing

@testable import ServiceTesting

/// What clients that show neither a certificate nor a provider token can make the service hold.
@Suite(.timeLimit(.minutes(4)), .serialized)
struct StrangerMemoryTests {
    @Test func `Answers that a client does not read are limited, and its connection ends`() async throws {
        // With small limits and a small buffer of the system's, few answers are enough.
        try await TestService.run {
            $0.provider.untrustedRequests = 1_024
        } _: { test in
            let client = try await HandmadeClient(test, settings: [(4, 0x7fff_ffff)], receiving: 8_192)
            try await client.openWindow(0x7fff_ffff - 65_535)
            try await client.stopReading()
            while (try? await client.burst(200, ProviderHeaders("00", token: nil).fields, endStream: true)) != nil {}
            try await test.metricsSay("untrusted-requests")
        }
    }

    @Test func `Requests of clients that never acknowledge SETTINGS are limited for all together`() async throws {
        try await TestService.run {
            $0.provider.untrustedRequests = 300
        } _: { test in
            let headers = ProviderHeaders("00", token: nil).fields
            var clients: [HandmadeClient] = []
            for _ in 0..<4 {
                let client = try await HandmadeClient(test)
                client.acknowledgesSettings = false
                clients.append(client)
                try await client.burst(200, headers)
                // Each counts as 1 KiB. The first has room for all of them, the second for 100, and the others for none.
                try await client.refused([0, 100, 200, 200][clients.count - 1])
            }
            // What they hold is free when they have gone.
            for client in clients { await client.close() }
            let next = try await HandmadeClient(test)
            try await next.burst(300, headers)
            try await next.burst(1, headers)
            try await next.refused(1)
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
