import HTTP2
import NIOCore
import Testing

@Suite struct ClientTests {
    @Test func `A request and its response`() throws {
        let peer = try EmbeddedPeer.connectedClient()
        let stream = try peer.session.request(.post("/3/device/00"), body: ByteBuffer(string: "{}"))
        #expect(stream == StreamID(1))
        let frames = try peer.received()
        #expect(frames.map(\.type) == [WireFrame.headers, WireFrame.data])
        #expect(frames.last == .data(1, "{}", endStream: true))
        try peer.send(.headers(1, [0x88] + literal("apns-id", "x")), .data(1, "ok", endStream: true))
        let events = peer.recorder.events.drop { $0 != .headersBegan(1) }
        #expect(
            Array(events) == [
                .headersBegan(1), .header(1, ":status", "200"), .header(1, "apns-id", "x"),
                .headersEnded(1, endStream: false), .data(1, "ok"), .ended(1), .closed(1, .noError), .batchEnded,
            ])
    }

    @Test func `Informational responses are skipped`() throws {
        let peer = try EmbeddedPeer.connectedClient()
        _ = try peer.session.request(.post("/"))
        try peer.send(.headers(1, literal(":status", "103") + literal("link", "x")))
        try peer.send(.headers(1, [0x88], endStream: true))
        #expect(peer.recorder.requests == [1])
        #expect(!peer.recorder.events.contains(.header(1, ":status", "103")))
        #expect(!peer.recorder.events.contains(.header(1, "link", "x")))
        #expect(peer.recorder.events.contains(.header(1, ":status", "200")))
    }

    @Test func `Trailers are dropped`() throws {
        let peer = try EmbeddedPeer.connectedClient()
        _ = try peer.session.request(.post("/"))
        try peer.send(.headers(1, [0x88]), .headers(1, literal("checksum", "1"), endStream: true))
        #expect(!peer.recorder.events.contains(.header(1, "checksum", "1")))
        #expect(peer.recorder.events.contains(.ended(1)))
        #expect(peer.recorder.closed == [.closed(1, .noError)])
    }

    @Test func `A request whose body is written later`() throws {
        let peer = try EmbeddedPeer.connectedClient()
        let stream = try peer.session.request(.post("/"), endStream: false)
        #expect(try peer.received().map(\.type) == [WireFrame.headers])
        peer.session.write(stream, ByteBuffer(string: "{}"))
        peer.session.finish(stream)
        #expect(try peer.received() == [.data(1, "{}", endStream: true)])
    }

    @Test func `The servers number of streams is kept`() throws {
        let peer = try EmbeddedPeer.connectedClient(maxStreams: 2)
        #expect(peer.session.availableStreams == 2)
        for _ in 0..<2 { _ = try peer.session.request(.post("/")) }
        #expect(throws: HTTP2Error(.tooManyStreams)) { try peer.session.request(.post("/")) }
        try peer.send(.headers(1, [0x88], endStream: true))
        #expect(peer.session.availableStreams == 1)
        try peer.send(.settings([(3, 10)]))
        #expect(peer.session.availableStreams == 9)
        #expect(peer.recorder.events.contains(.settings(maxConcurrentStreams: 10)))
    }

    @Test func `The own number of streams is kept`() throws {
        let peer = try EmbeddedPeer.connectedClient(maxStreams: 1_000) { $0.limits.maxConcurrentStreams = 3 }
        #expect(peer.session.availableStreams == 3)
    }

    @Test func `Before the servers settings a hundred are opened`() throws {
        let peer = try EmbeddedPeer(.client)
        #expect(peer.session.availableStreams == 100)
    }

    @Test func `A request from within the end of another goes out at once`() throws {
        let peer = try EmbeddedPeer.connectedClient(maxStreams: 1)
        var left = 3
        peer.recorder.on = { session, event in
            guard case .closed = event, left > 0 else { return }
            left -= 1
            _ = try? session.request(.post("/"))  // Counted below.
        }
        _ = try peer.session.request(.post("/"))
        for stream in [1, 3, 5, 7] as [UInt32] {
            #expect(try peer.received(WireFrame.headers).map(\.stream) == [stream])
            try peer.send(.headers(stream, [0x88], endStream: true))
        }
        #expect(peer.recorder.closed.count == 4)
    }

    @Test func `A request that was given up before it was sent is closed once`() throws {
        let peer = try EmbeddedPeer.connectedClient()
        let stream = try peer.session.request(.post("/"))
        peer.session.reset(stream, .cancel)
        _ = try peer.received()
        #expect(peer.recorder.closed == [.closed(1, .cancel)])
    }

    @Test func `A server cannot make requests`() throws {
        let peer = try EmbeddedPeer.connected()
        #expect(throws: HTTP2Error(.notAClient)) { try peer.session.request(.post("/")) }
    }

    @Test func `A long response header list is reset`() throws {
        let peer = try EmbeddedPeer.connectedClient { $0.limits.maxHeaderListBytes = 100 }
        _ = try peer.session.request(.post("/"))
        try peer.send(.headers(1, [0x88] + literal("x", String(repeating: "y", count: 100))))
        #expect(peer.recorder.closed == [.closed(1, .enhanceYourCalm)])
    }

    @Test func `RFC 9113, 6.5.2: a push is a connection error`() throws {
        let peer = try EmbeddedPeer.connectedClient()
        _ = try peer.session.request(.post("/"))
        try peer.send(
            WireFrame(type: 5, flags: WireFrame.endHeaders, stream: 1, payload: word(2) + [0x82, 0x84, 0x87]))
        let over = try #require(peer.recorder.over.first)
        #expect(over == "PROTOCOL_ERROR: PUSH_PROMISE came (RFC 9113, 6.6)")
        #expect(peer.recorder.over.count == 1)
    }
}
