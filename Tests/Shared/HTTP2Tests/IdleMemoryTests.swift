#if os(Linux)
    import CommonTesting
    import Foundation
    import NIOCore
    import NIOEmbedded
    import Testing

    @testable import Connections
    @testable import HTTP2

    /// An idle connection returns memory to the system, and works afterwards as before.
    @Suite(.timeLimit(.minutes(1))) struct IdleMemoryTests {
        private static func residentPages(of buffers: TLSBuffers?) -> Int {
            buffers.map { $0.pieces.reduce(0) { $0 + pagesInMemory($1.address, $1.bytes) } } ?? -1
        }

        @Test func `A session that was idle for its time holds no memory for frames`() throws {
            let peer = try EmbeddedPeer.connected { $0.idleMemory = .releasedAfter(.seconds(1)) }
            #expect(peer.session.heldMemory > 0)
            // The first check still finds the frames of the connection's start.
            peer.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            #expect(peer.session.heldMemory > 0)
            peer.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            #expect(peer.session.heldMemory == 0)
            try peer.send(.ping(7))
            #expect(try peer.received() == [.ping(7, acknowledge: true)])
            peer.channel.embeddedEventLoop.advanceTime(by: .seconds(2))
            #expect(peer.session.heldMemory == 0)
        }

        @Test func `A session that releases memory on request does so if no frame came since the last request`() throws
        {
            let peer = try EmbeddedPeer.connected { $0.idleMemory = .releasedOnRequest }
            peer.channel.embeddedEventLoop.advanceTime(by: .seconds(60))
            #expect(peer.session.heldMemory > 0)
            peer.session.releaseMemoryIfIdle()
            #expect(peer.session.heldMemory > 0)
            peer.session.releaseMemoryIfIdle()
            #expect(peer.session.heldMemory == 0)
            try peer.send(.ping(7))
            #expect(try peer.received() == [.ping(7, acknowledge: true)])
            peer.session.releaseMemoryIfIdle()
            #expect(peer.session.heldMemory > 0)
            peer.session.releaseMemoryIfIdle()
            #expect(peer.session.heldMemory == 0)
        }

        @Test func `What a request and its answer have needed is released too`() throws {
            let peer = try EmbeddedPeer.connected { $0.idleMemory = .releasedAfter(.seconds(1)) }
            // The request comes in parts, the first of which ends within the head of its frame.
            let request = WireFrame.request(1, [("a", "b")]).bytes
            for part in [request.prefix(5), request.dropFirst(5).prefix(20), request.dropFirst(25)] {
                try peer.send(Array(part))
            }
            try peer.send(.data(1, "x", endStream: true))
            peer.session.respond(StreamID(1), .status("200"))
            #expect(try peer.received(WireFrame.headers).map(\.stream) == [1])
            #expect(peer.session.heldMemory > 0)
            peer.channel.embeddedEventLoop.advanceTime(by: .seconds(2))
            #expect(peer.session.heldMemory == 0)
            try peer.send(.request(3, endStream: true))
            #expect(peer.recorder.requests == [1, 3])
        }

        @Test func `A session that keeps its memory releases none`() throws {
            let peer = try EmbeddedPeer.connected()
            peer.channel.embeddedEventLoop.advanceTime(by: .hours(1))
            for _ in 0..<2 { peer.session.releaseMemoryIfIdle() }
            #expect(peer.session.heldMemory > 0)
        }

        @Test func `A session that has ended holds no memory, and no table`() throws {
            let peer = try EmbeddedPeer.connected()
            peer.recorder.on = { session, event in
                if case .headersEnded(let stream, _) = event { session.respond(StreamID(stream), .tabled) }
            }
            try peer.send(.headers(1, WireFrame.requestBlock + indexedLiteral("a", "b"), endStream: true))
            #expect(peer.session.tableMemory > 0)
            peer.channel.close(promise: nil)
            peer.run()
            #expect(peer.session.heldMemory == 0)
            #expect(peer.session.tableMemory == 0)
        }

        @Test func `While something waits to be sent, no memory is released`() throws {
            let peer = try EmbeddedPeer.connected { $0.idleMemory = .releasedAfter(.seconds(1)) }
            peer.channel.isWritable = false
            peer.channel.pipeline.fireChannelWritabilityChanged()
            peer.session.ping(7)
            peer.channel.embeddedEventLoop.advanceTime(by: .seconds(5))
            #expect(peer.session.heldMemory > 0)
            peer.channel.isWritable = true
            peer.channel.pipeline.fireChannelWritabilityChanged()
            #expect(try peer.received() == [.ping(7)])
            peer.channel.embeddedEventLoop.advanceTime(by: .seconds(5))
            #expect(peer.session.heldMemory == 0)
        }

        @Test(.startsPrograms) func `TLS works after its buffers were released, even if they had grown before`()
            async throws
        {
            var configuration = HTTP2Configuration()
            configuration.idleMemory = .releasedAfter(.milliseconds(1))
            try await Loopback.withServer(configuration) { port in
                let client = try await Loopback.connect(port: port, configuration: configuration)
                var hasGrown = false
                for size in [10, 300, 20_000, 10, 60_000, 10, 300_000, 10, 1_000_000, 10] {
                    let body = String(repeating: "0123456789", count: size / 10)
                    #expect(try await client.post("/echo", body: body).body == body)
                    // All requests are answered, so nothing is being sent or received while this runs on the event
                    // loop.
                    let pages = try await client.ask { session in
                        session.buffers?.releaseIdleMemory()
                        return Self.residentPages(of: session.buffers)
                    }
                    // A buffer that has grown is no longer on pages of its own, and other data may be in its old place.
                    hasGrown = hasGrown || size > 10_000
                    if !hasGrown { #expect(pages == 0) }
                }
                #expect(try await client.end { $0.drain() } == "drained")
            }
        }

        @Test(.startsPrograms) func `A closed connection does not release the buffers of another`() async throws {
            try await Loopback.withServer { port in
                let first = try await Loopback.connect(port: port)
                _ = try await first.post("/echo", body: "1")
                let old = try await first.ask { NIOLoopBoundBuffers($0.buffers) } ?? nil
                _ = try await first.end { $0.drain() }
                // The new connection may get the memory of the old one.
                let second = try await Loopback.connect(port: port)
                _ = try await second.post("/echo", body: "2")
                let pages = try await second.ask { Self.residentPages(of: $0.buffers) }
                old?.buffers.releaseIdleMemory()
                #expect(try await second.ask { Self.residentPages(of: $0.buffers) } == pages)
                _ = try await second.end { $0.drain() }
            }
        }

        /// Carries the buffers away from their event loop, after their connection has ended.
        private struct NIOLoopBoundBuffers: @unchecked Sendable {
            let buffers: TLSBuffers

            init?(_ buffers: TLSBuffers?) {
                guard let buffers else { return nil }
                self.buffers = buffers
            }
        }
    }
#endif
