import CommonTesting
import Delivery
import Foundation
import HTTP2
import NIOCore
import Service
import Synchronization
import Testing

@testable import ServiceTesting

/// The answers that providers get during a shutdown.
@Suite(.timeLimit(.minutes(2)))
struct ShutdownTests {
    @Test func `At a shutdown a request that does not end in time gets 503 Shutdown`() async throws {
        try await TestService.run {
            $0.shutdownTimeout = .milliseconds(300)
        } _: { test in
            let client = try await test.connectProvider()
            let headers = ProviderHeaders("00", token: try test.providerToken()).fields
            #expect(await client.isServed(headers))
            try await client.announced(1000)
            let began = try await client.begin(headers)
            test.stop()
            let answer = try await began.answer()
            #expect(answer.status == 503 && answer.reason == "Shutdown")
            let goAways = try await client.goAways()
            #expect(goAways.first == #"{"reason":"Shutdown"}"#)
        }
    }

    @Test func `A channel that the store is still creating is not answered, so that nobody creates it again`()
        async throws
    {
        let held = Mutex<HeldChannels?>(nil)
        let wrap = { @Sendable (store: any Store) -> any Store in
            let channels = HeldChannels(store.broadcastChannels)
            held.withLock { $0 = channels }
            return FailingStore(store, channels: channels)
        }
        try await TestService.runWrapping(wrap) {
            $0.shutdownTimeout = .milliseconds(100)
        } _: { test in
            let channels = try required(held.withLock { $0 })
            let client = try await test.connectChannels()
            let headers = ChannelHeaders("POST", token: try test.providerToken())
            async let sending = client.send(headers.fields, body: headers.body)
            await channels.arrival()
            test.stop()
            // The connection ends below the request.
            let answer = try await sending
            #expect(answer.status == 0 && answer.error != nil, "\(answer)")
            channels.release()
        }
    }

    @Test func `A request that is complete in time gets its usual answer, and then the connection ends`() async throws {
        try await TestService.run {
            $0.shutdownTimeout = .seconds(60)
        } _: { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(token, token: try test.providerToken()).fields
            #expect(await client.isServed(headers))
            try await client.announced(1000)
            let began = try await client.begin(headers)
            test.stop()
            // Streams that are opened now are refused, so that the client can send the requests elsewhere.
            try await wait(while: try await client.send(headers).error != .refusedStream)
            let answer = try await began.finish()
            #expect(answer.status == 200)
            let goAways = try await client.goAways()
            #expect(goAways == [#"{"reason":"Shutdown"}"#])
        }
    }

    /// The preface, empty SETTINGS, and a request for notifications (RFC 9113, 3.4; RFC 7541, 6.2.2).
    private static var listening: [UInt8] {
        var block: [UInt8] = []
        for (name, value) in [
            (":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", "/1/notifications"),
        ] {
            block += [0, UInt8(name.utf8.count)] + name.utf8 + [UInt8(value.utf8.count)] + value.utf8
        }
        return Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
            + [0, 0, UInt8(block.count), 1, 5, 0, 0, 0, 1] + block
    }

    /// Clients on python-h2 take every frame after GOAWAY for a fault.
    @Test(arguments: [true, false])
    func `A device that reads nothing after GOAWAY has had its last line, and the shutdown does not wait for it`(
        _ answersPing: Bool
    ) async throws {
        try await TestService.run {
            $0.shutdownTimeout = .seconds(60)
        } _: { test in
            let (data, headers, ping, goAway): (UInt8, UInt8, UInt8, UInt8) = (0, 1, 6, 7)
            let client = try await ByteClient.connect(
                port: try test.port(\.courier), authorityFile: test.description.ca,
                certificate: try await test.makeDeviceCertificate(), protocols: ["h2"])
            try await client.write(Self.listening)
            var kinds: [UInt8] = []
            var text = ""
            while kinds.last != goAway, let head = await client.read(9) {
                let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
                let payload = try required(await client.read(length))
                kinds.append(head[3])
                if head[3] == headers { test.stop() }
                if head[3] == data { text += String(decoding: payload, as: UTF8.self) }
                let isAcknowledgement = head[4] & 1 == 1
                if head[3] == ping, !isAcknowledgement, answersPing {
                    try await client.write([0, 0, 8, 6, 1, 0, 0, 0, 0] + payload)
                }
            }
            #expect(kinds.last == goAway)
            #expect(text.contains(#"{"end":"shutdown"}"#), "\(text)")
            // The service closes the connection, although the client holds it open.
            #expect(await client.readToEnd() == [])
        }
    }
}
