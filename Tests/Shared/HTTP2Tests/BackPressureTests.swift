import HTTP2
import NIOCore
import NIOEmbedded
import Testing

@Suite struct BackPressureTests {
    private func opened(_ configure: (inout HTTP2Configuration) -> Void = { _ in }) throws -> EmbeddedPeer {
        let peer = try EmbeddedPeer.connected(configure)
        try peer.send(.request(1, endStream: true))
        peer.session.sendHeaders(StreamID(1), .status("200"), endStream: false)
        _ = try peer.received()
        return peer
    }

    private func text(_ count: Int) -> ByteBuffer { ByteBuffer(repeating: UInt8(ascii: "x"), count: count) }

    @Test func `A response stays open and is written from outside any read`() throws {
        let peer = try opened()
        for line in ["{\"a\":1}\n", "\n", "{\"b\":2}\n"] {
            #expect(peer.session.write(StreamID(1), ByteBuffer(string: line)) == .more)
            let frames = try peer.received()
            #expect(frames == [.data(1, line)])
        }
        peer.session.finish(StreamID(1))
        #expect(try peer.received() == [.data(1, endStream: true)])
        #expect(peer.recorder.closed == [.closed(1, .noError)])
    }

    @Test func `Writes of one tick share a frame`() throws {
        let peer = try opened()
        for _ in 0..<10 { peer.session.write(StreamID(1), ByteBuffer(string: "x\n")) }
        #expect(try peer.received() == [.data(1, String(repeating: "x\n", count: 10))])
    }

    @Test func `No more than the window is sent`() throws {
        let peer = try opened()
        peer.session.write(StreamID(1), text(100_000))
        let sent = try peer.received(WireFrame.data).reduce(0) { $0 + $1.payload.count }
        #expect(sent == 65_535)
        #expect(peer.session.bufferedBytes == 100_000 - 65_535)
    }

    @Test func `A slow reader is seen at the high mark`() throws {
        let peer = try opened()
        peer.session.write(StreamID(1), text(65_535))
        _ = try peer.received()
        #expect(peer.session.write(StreamID(1), text(65_535)) == .more)
        #expect(peer.session.write(StreamID(1), text(1)) == .wait)
        try peer.send(.windowUpdate(0, 1_000_000), .windowUpdate(1, 40_000))
        #expect(!peer.recorder.events.contains(.writable(1)))
        try peer.send(.windowUpdate(1, 40_000))
        #expect(peer.recorder.events.filter { $0 == .writable(1) }.count == 1)
    }

    @Test func `A window that never opens holds a bounded amount`() throws {
        let peer = try opened { $0.maxBufferedBytes = 200_000 }
        var results: [HTTP2Session.WriteResult] = []
        for _ in 0..<100 where results.last != .closed { results.append(peer.session.write(StreamID(1), text(10_000))) }
        #expect(results.last == .closed)
        #expect(peer.session.bufferedBytes <= 200_000)
        #expect(try peer.received(WireFrame.reset).count == 1)
        #expect(peer.recorder.closed == [.closed(1, .internalError)])
        #expect(peer.session.bufferedBytes == 0)
    }

    @Test func `Nothing is written to a channel that does not take it`() throws {
        let peer = try opened()
        peer.setWritable(false)
        peer.session.write(StreamID(1), text(1_000))
        #expect(try peer.receivedBytes().isEmpty)
        #expect(peer.session.bufferedBytes == 1_000)
        peer.setWritable(true)
        #expect(try peer.received(WireFrame.data).count == 1)
    }

    @Test func `A big body goes out in pieces of the channels mark`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.settings([(4, 1_000_000)]), .windowUpdate(0, 1_000_000), .request(1, endStream: true))
        peer.session.respond(StreamID(1), .status("200"), body: text(500_000))
        peer.run()
        var sizes: [Int] = []
        while let buffer = try peer.channel.readOutbound(as: ByteBuffer.self) { sizes.append(buffer.readableBytes) }
        #expect(sizes.allSatisfy { $0 < 65_536 + 16_384 + 18 })
        #expect(sizes.reduce(0, +) > 500_000)
    }

    @Test func `Writing on from writable goes on to the end`() throws {
        let peer = try opened()
        try peer.send(.settings([(4, 2_000_000_000)]), .windowUpdate(0, 2_000_000_000))
        var rest = 5_000_000
        func fill(_ session: HTTP2Session) {
            while rest > 0 {
                rest -= 10_000
                guard session.write(StreamID(1), self.text(10_000)) == .more else { return }
            }
            session.finish(StreamID(1))
        }
        peer.recorder.on = { session, event in
            if event == .writable(1) { fill(session) }
        }
        fill(peer.session)
        let sent = try peer.received(WireFrame.data).reduce(0) { $0 + $1.payload.count }
        #expect(sent == 5_000_000)
        #expect(peer.recorder.closed == [.closed(1, .noError)])
    }

    @Test func `What is read opens the windows again`() throws {
        let peer = try EmbeddedPeer.connected { $0.limits.connectionWindowBytes = 65_535 }
        try peer.send(.request(1))
        let chunk = String(repeating: "x", count: 16_384)
        try peer.send(.data(1, chunk), .data(1, chunk), .data(1, chunk))
        #expect(Set(try peer.received(WireFrame.windowUpdate).map(\.stream)) == [0, 1])
    }

    @Test func `A paused streams window stays closed and the connections opens`() throws {
        let peer = try EmbeddedPeer.connected { $0.limits.connectionWindowBytes = 65_535 }
        try peer.send(.request(1))
        peer.session.pauseReading(StreamID(1))
        let chunk = String(repeating: "x", count: 16_384)
        try peer.send(.data(1, chunk), .data(1, chunk), .data(1, chunk))
        #expect(Set(try peer.received(WireFrame.windowUpdate).map(\.stream)) == [0])
        peer.session.resumeReading(StreamID(1))
        let update = try #require(try peer.received(WireFrame.windowUpdate).first)
        #expect(update.stream == 1)
        #expect(update.number() == 49_152)
    }

    @Test func `A peer that sends more than a paused streams window is reset`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1))
        peer.session.pauseReading(StreamID(1))
        let chunk = String(repeating: "x", count: 16_384)
        for _ in 0..<5 { try peer.send(.data(1, chunk)) }
        #expect(try peer.received(WireFrame.reset).map { $0.number() } == [HTTP2ErrorCode.flowControlError.rawValue])
    }
}
