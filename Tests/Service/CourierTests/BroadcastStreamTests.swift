import Foundation
import Service
import Testing

@testable import ServiceTesting

/// Broadcasts and the ends of devices' streams, over the wire.
@Suite(.timeLimit(.minutes(2)))
struct BroadcastStreamTests {
    /// More than an event loop writes in one turn, and fewer than a device may leave unacknowledged.
    private static let (devices, broadcasts) = (20, 30)

    @Test func `A stream that another one takes over still gets the broadcasts that were sent before`() async throws {
        try await TestService.run { test in
            let channel = try await test.makeChannel()
            var streams: [WireClient.Open] = []
            var clients: [WireClient] = []
            var others: [WireClient] = []
            for _ in 0..<Self.devices {
                let (client, certificate) = try await test.connectRegistered()
                streams.append(try await client.listen())
                #expect(try await client.subscribe(to: channel).status == 204)
                let other = try await test.connectCourier(certificate)
                // After an answer the connection is ready.
                #expect(try await other.acknowledge([]).status < 500)
                clients += [client, other]
                others.append(other)
            }
            try await test.waitForSubscribers(Self.devices, of: channel)
            let provider = try await test.connectProvider()
            let headers = ChannelHeaders(broadcastTo: channel, token: try test.providerToken())
            #expect(try await provider.send(headers.fields, body: headers.body).status == 200)
            try await provider.announced(1000)
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 1..<Self.broadcasts {
                    group.addTask { try await provider.send(headers.fields, body: headers.body).status }
                }
                for try await status in group { #expect(status == 200) }
            }
            try await withThrowingTaskGroup { group in
                for other in others { group.addTask { _ = try await other.listen() } }
                try await group.waitForAll()
            }
            for stream in streams {
                let lines = try await stream.answer().body.split(separator: "\n")
                #expect(lines.count == Self.broadcasts + 1)
                #expect(lines.last == #"{"end":"takenOver"}"#)
            }
            for client in clients + [provider] { await client.close() }
        }
    }
}
