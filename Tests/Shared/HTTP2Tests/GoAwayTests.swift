import HTTP2
import NIOCore
import NIOEmbedded
import Testing

@Suite struct GoAwayTests {
    private static let json = "{\"reason\":\"Shutdown\"}"

    @Test func `The first GOAWAY of a drain carries the data already`() throws {
        let peer = try EmbeddedPeer.connected()
        peer.session.drain(debugData: Array(Self.json.utf8))
        let frames = try peer.received()
        #expect(frames.map(\.type) == [WireFrame.goAway, WireFrame.ping])
        #expect(frames.first?.number() == StreamID.last.rawValue)
        #expect(frames.first?.number(at: 4) == HTTP2ErrorCode.noError.rawValue)
        #expect(frames.first?.debugData == Self.json)
    }

    @Test func `The second GOAWAY follows the round trip`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1))
        peer.session.drain(debugData: Array(Self.json.utf8))
        let ping = try #require(try peer.received(WireFrame.ping).first)
        // A request that crossed the first GOAWAY is served.
        try peer.send(.request(3), WireFrame(type: WireFrame.ping, flags: WireFrame.acknowledge, payload: ping.payload))
        let second = try #require(try peer.received(WireFrame.goAway).first)
        #expect(second.number() == 3)
        #expect(second.debugData == Self.json)
        #expect(peer.recorder.requests == [1, 3])
    }

    /// GOAWAY says that it was not, although it is sent only after it has come.
    @Test func `A request that comes right after the answer to the PING is not processed`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1))
        peer.session.drain()
        let ping = try #require(try peer.received(WireFrame.ping).first)
        try peer.send(
            WireFrame(type: WireFrame.ping, flags: WireFrame.acknowledge, payload: ping.payload), .request(3))
        #expect(try peer.received(WireFrame.goAway).first?.number() == 1)
        #expect(peer.recorder.requests == [1])
    }

    // MARK: Answers first

    @Test func `The one GOAWAY follows the answers and their bodies`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1, endStream: true), .request(3, endStream: true))
        peer.session.goAwayOnceAnswered(debugData: Array(Self.json.utf8))
        #expect(peer.session.isDraining)
        #expect(try peer.received().isEmpty)
        peer.session.respond(StreamID(3), .status("200"))
        #expect(try peer.received().map(\.type) == [WireFrame.headers])
        peer.session.respond(StreamID(1), .status("403"), body: ByteBuffer(string: Self.json))
        let frames = try peer.received()
        #expect(frames.map(\.type) == [WireFrame.headers, WireFrame.data, WireFrame.goAway])
        #expect(frames.last?.number() == 3)
        #expect(frames.last?.debugData == Self.json)
        #expect(!peer.channel.isActive)
        #expect(peer.recorder.over == ["drained"])
    }

    @Test func `An idle connection gets its GOAWAY at once`() throws {
        let peer = try EmbeddedPeer.connected()
        peer.session.goAwayOnceAnswered(debugData: Array(Self.json.utf8))
        peer.session.goAwayOnceAnswered()
        #expect(try peer.received().map(\.type) == [WireFrame.goAway])
        #expect(peer.recorder.over == ["drained"])
    }

    // MARK: What came too late

    @Test func `What comes above the last stream is known to an observer`() throws {
        let peer = try EmbeddedPeer.connected { $0.observesUnprocessed = true }
        try peer.send(.request(1))
        peer.session.goAway(.noError)
        _ = try peer.received()
        try peer.send(
            .request(3), .data(3, "a body"), .data(3, " in two", endStream: true), .request(5), .data(5, "half"),
            .data(1, "processed", endStream: true))
        let late = peer.session.unprocessedStreams
        #expect(late.count == 2)
        let known = late.requests.sorted { $0.body.count > $1.body.count }
        #expect(known.map { String(decoding: $0.body, as: UTF8.self) } == ["a body in two", "half"])
        #expect(known.map(\.isComplete) == [true, false])
        #expect(known.map { $0.path.map { String(decoding: $0, as: UTF8.self) } } == ["/3/device/00", "/3/device/00"])
        #expect(peer.recorder.requests == [1])
    }

    @Test func `What is refused before GOAWAY, and what comes while the channel closes, is known too`() throws {
        let peer = try EmbeddedPeer.connected { $0.observesUnprocessed = true }
        try peer.channel.pipeline.syncOperations.addHandler(NeverClosing(), position: .first)
        try peer.send(.request(1, endStream: true))
        peer.session.goAwayOnceAnswered()
        // `:path` with a name from the static table, and "/3" in Huffman code (RFC 7541, 5.2 and appendix B).
        try peer.send(.headers(3, [0x83, 0x87, 0x04, 0x82, 0x61, 0x9f], endStream: true))
        peer.session.respond(StreamID(1), .status("200"))
        #expect(try peer.received(WireFrame.goAway).count == 1)
        try peer.send(.request(5), .data(5, "late", endStream: true))
        let late = peer.session.unprocessedStreams
        #expect(late.count == 2)
        let known = late.requests.sorted { $0.body.count < $1.body.count }
        #expect(known.map { $0.path.map { String(decoding: $0, as: UTF8.self) } } == ["/3", "/3/device/00"])
        #expect(known.map(\.isComplete) == [true, true])
    }

    @Test func `Indexed paths and content with padding are known too`() throws {
        let peer = try EmbeddedPeer.connected { $0.observesUnprocessed = true }
        // `:path` with incremental indexing (RFC 7541, 6.2.1), which is then an entry of the table.
        let block = [0x83, 0x87, 0x44, 0x02, 0x2f, 0x33] + literal(":authority", "localhost")
        try peer.send(.headers(1, block))
        peer.session.goAway(.noError)
        let padded = WireFrame(
            type: WireFrame.data, flags: 0x8 | WireFrame.endStream, stream: 3, payload: [1, 0x61, 0x62, 0])
        try peer.send(.headers(3, [0x83, 0x87, 0xbe]), padded)
        let late = peer.session.unprocessedStreams
        #expect(late.count == 1)
        #expect(late.requests.map(\.path) == [Array("/3".utf8)])
        #expect(late.requests.map(\.body) == [Array("ab".utf8)])
        #expect(late.requests.map(\.isComplete) == [true])
    }

    @Test func `A malformed request that comes while the answers are sent is known too`() throws {
        let peer = try EmbeddedPeer.connected { $0.observesUnprocessed = true }
        try peer.send(.request(1, endStream: true))
        peer.session.goAwayOnceAnswered()
        try peer.send(.headers(3, [0x83, 0x87], endStream: true))
        #expect(peer.session.unprocessedStreams.count == 1)
        #expect(peer.recorder.requests == [1])
    }

    @Test func `Nothing is read any more after bytes were dropped`() throws {
        let peer = try EmbeddedPeer.connected { $0.observesUnprocessed = true }
        try peer.channel.pipeline.syncOperations.addHandler(NeverClosing(), position: .first)
        try peer.send(.request(1))
        peer.session.goAwayOnceAnswered()
        peer.recorder.on = { session, event in
            if case .ended = event { session.close() }
        }
        // The rest of the frame of 3 comes after the session was closed, and could be taken for frames.
        let data = WireFrame.data(3, String(decoding: WireFrame.headers(5, []).bytes, as: UTF8.self)).bytes
        try peer.send(WireFrame.data(1, "x", endStream: true).bytes + data.prefix(9))
        try peer.send(Array(data.dropFirst(9)))
        #expect(peer.session.unprocessedStreams.count == 0)
        #expect(try peer.received(WireFrame.goAway).count == 1)
    }

    @Test func `Nothing that was processed, or refused for another reason, counts as unprocessed`() throws {
        let peer = try EmbeddedPeer.connected { $0.observesUnprocessed = true }
        // 3 is malformed: it has no `:path`.
        try peer.send(.request(1), .headers(3, [0x83, 0x87]), .data(3, "x", endStream: true))
        peer.session.goAway(.noError)
        #expect(try peer.received(WireFrame.goAway).map { $0.number() } == [3])
        try peer.send(.headers(3, literal("a", "b"), endStream: true), .data(1, "x", endStream: true))
        #expect(peer.session.unprocessedStreams.count == 0)
    }

    @Test func `What comes between the close and GOAWAY is dropped, and what follows it too`() throws {
        let peer = try EmbeddedPeer.connected { $0.observesUnprocessed = true }
        try peer.channel.pipeline.syncOperations.addHandler(NeverClosing(), position: .first)
        try peer.send(.request(1, endStream: true))
        peer.session.goAwayOnceAnswered()
        peer.setWritable(false)
        peer.session.close()
        let data = WireFrame.data(3, String(decoding: WireFrame.headers(5, []).bytes, as: UTF8.self)).bytes
        try peer.send(Array(data.prefix(9)))
        peer.setWritable(true)
        try peer.send(Array(data.dropFirst(9)))
        #expect(peer.session.unprocessedStreams.count == 0)
    }

    /// Waits for the peer before it closes, as TLS does.
    private final class NeverClosing: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            promise?.succeed()
        }
    }

    @Test func `What is opened meanwhile is refused`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1, endStream: true))
        peer.session.goAwayOnceAnswered()
        try peer.send(.request(3), .data(3, "x", endStream: true))
        let refusal = try #require(try peer.received(WireFrame.reset).first)
        #expect(refusal.number() == HTTP2ErrorCode.refusedStream.rawValue)
        #expect(peer.recorder.requests == [1])
        peer.session.respond(StreamID(1), .status("200"))
        #expect(try peer.received(WireFrame.goAway).first?.number() == 1)
        #expect(peer.recorder.over == ["drained"])
    }

    @Test func `As many requests as there may be are no flood`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1, endStream: true))
        peer.session.goAwayOnceAnswered()
        try peer.send((1...999).map { .request(UInt32(2 * $0 + 1), endStream: true) })
        #expect(try peer.received(WireFrame.reset).count == 999)
        peer.session.respond(StreamID(1), .status("200"))
        #expect(try peer.received(WireFrame.goAway).map { $0.number() } == [1])
        #expect(peer.recorder.over == ["drained"])
    }

    @Test func `It does not wait for a request that has its answer`() throws {
        let peer = try EmbeddedPeer.connected { $0.earlyReset = .onceRead }
        try peer.send(.request(1))
        peer.session.respond(StreamID(1), .status("403"), body: ByteBuffer(string: Self.json))
        peer.session.goAwayOnceAnswered()
        let types = try peer.received().map(\.type)
        #expect(types == [WireFrame.headers, WireFrame.data, WireFrame.ping, WireFrame.goAway])
        #expect(peer.channel.isActive)
        try peer.send(.data(1, "the rest", endStream: true))
        #expect(peer.recorder.over == ["drained"])
    }

    @Test func `It waits for an answer that the peer does not take`() throws {
        let peer = try EmbeddedPeer.connected()
        // SETTINGS_INITIAL_WINDOW_SIZE.
        try peer.send(.settings([(4, 0)]))
        try peer.send(.request(1, endStream: true))
        peer.session.respond(StreamID(1), .status("403"), body: ByteBuffer(string: Self.json))
        peer.session.goAwayOnceAnswered()
        #expect(try peer.received(WireFrame.goAway).isEmpty)
        try peer.send(.settings([(4, 65_535)]))
        #expect(try peer.received().map(\.type).suffix(2) == [WireFrame.data, WireFrame.goAway])
    }

    @Test func `A session that is closed meanwhile says it as well`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1), .request(3))
        peer.session.goAwayOnceAnswered(debugData: Array(Self.json.utf8))
        _ = try peer.received()
        peer.session.respond(StreamID(1), .status("503"), body: ByteBuffer(string: Self.json))
        peer.session.close()
        #expect(
            try peer.received().map(\.type) == [WireFrame.headers, WireFrame.data, WireFrame.goAway])
        #expect(peer.recorder.over == ["closed"])
    }

    // MARK: The end of a drain

    @Test func `The channel is closed when the last stream is done`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1, endStream: true))
        peer.session.drain()
        _ = try peer.received()
        peer.session.finishDrain()
        _ = try peer.received()
        #expect(peer.channel.isActive)
        peer.session.respond(StreamID(1), .status("200"))
        #expect(try peer.received().map(\.type) == [WireFrame.headers])
        #expect(!peer.channel.isActive)
        #expect(peer.recorder.over == ["drained"])
    }

    @Test func `The channel is closed when the last request ends after its answer`() throws {
        let peer = try EmbeddedPeer.connected { $0.earlyReset = .onceRead }
        try peer.send(.request(1))
        peer.session.respond(StreamID(1), .status("200"))
        peer.session.drain()
        peer.session.finishDrain()
        try peer.send(.data(1, "more"))
        #expect(peer.channel.isActive)
        try peer.send(.data(1, "and the last", endStream: true))
        #expect(!peer.channel.isActive)
        #expect(peer.recorder.over == ["drained"])
    }

    @Test func `A drain is finished at once on request`() throws {
        let peer = try EmbeddedPeer.connected()
        peer.session.drain(debugData: Array(Self.json.utf8))
        peer.session.finishDrain()
        let frames = try peer.received(WireFrame.goAway)
        #expect(frames.map { $0.number() } == [StreamID.last.rawValue, 0])
        #expect(frames.map(\.debugData) == [Self.json, Self.json])
        #expect(peer.recorder.over == ["drained"])
    }

    @Test func `An error during a drain is told`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1))
        peer.session.drain()
        _ = try peer.received()
        peer.session.finishDrain()
        try peer.send(.data(0, "x"))
        #expect(peer.recorder.over.first?.hasPrefix("PROTOCOL_ERROR") == true)
    }

    @Test func `Streams after the second GOAWAY are not told`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1))
        peer.session.goAway(.noError)
        _ = try peer.received()
        try peer.send(.request(3))
        #expect(peer.recorder.requests == [1])
    }

    @Test func `A GOAWAY carries code and data`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1))
        peer.session.goAway(.enhanceYourCalm, debugData: Array(Self.json.utf8))
        peer.session.close()
        let frame = try #require(try peer.received(WireFrame.goAway).first)
        #expect(frame.number() == 1)
        #expect(frame.number(at: 4) == HTTP2ErrorCode.enhanceYourCalm.rawValue)
        #expect(frame.debugData == Self.json)
        #expect(peer.recorder.over == ["closed"])
    }

    @Test func `A server hears a clients GOAWAY`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1), .goAway(0, .noError, "bye"))
        #expect(peer.recorder.events.contains(.goAway(0, .noError, "bye")))
        #expect(peer.session.isDraining)
        peer.session.respond(StreamID(1), .status("200"))
        _ = try peer.received()
        #expect(peer.recorder.over == ["drained"])
    }

    @Test func `A client hears a servers GOAWAY`() throws {
        let peer = try EmbeddedPeer.connectedClient()
        for _ in 0..<2 { _ = try peer.session.request(.post("/")) }
        _ = try peer.received()
        try peer.send(.goAway(1, .noError, Self.json))
        #expect(peer.recorder.events.contains(.goAway(1, .noError, Self.json)))
        #expect(peer.recorder.closed == [.closed(3, .refusedStream)])
        #expect(throws: HTTP2Error(.goingAway)) { try peer.session.request(.post("/")) }
        #expect(peer.session.availableStreams == 0)
    }

    @Test func `A client drains with one GOAWAY`() throws {
        let peer = try EmbeddedPeer.connectedClient()
        _ = try peer.session.request(.post("/"))
        peer.session.drain(debugData: Array(Self.json.utf8))
        let frames = try peer.received()
        #expect(frames.filter { $0.type == WireFrame.goAway }.map(\.debugData) == [Self.json])
        #expect(frames.contains { $0.type == WireFrame.headers })
        #expect(throws: HTTP2Error(.goingAway)) { try peer.session.request(.post("/")) }
        try peer.send(.headers(1, [0x88], endStream: true))
        #expect(peer.recorder.over == ["drained"])
    }

    @Test func `Long data is cut`() throws {
        let peer = try EmbeddedPeer.connected()
        peer.session.drain(debugData: [UInt8](repeating: 120, count: 20_000))
        #expect(try peer.received(WireFrame.goAway).first?.payload.count == 16_384)
    }

    @Test func `A ping comes back`() throws {
        let peer = try EmbeddedPeer.connected()
        peer.session.ping(0x0102_0304_0506_0708)
        let ping = try #require(try peer.received().first)
        #expect(ping.payload == [1, 2, 3, 4, 5, 6, 7, 8])
        try peer.send(.ping(0x0102_0304_0506_0708, acknowledge: true))
        #expect(peer.recorder.events.contains(.pong(0x0102_0304_0506_0708)))
    }
}
