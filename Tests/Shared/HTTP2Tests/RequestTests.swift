import HTTP2
import NIOCore
import NIOEmbedded
import Testing

@Suite struct RequestTests {
    @Test func `A request is told in order`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1), .data(1, "{}", endStream: true))
        let events = peer.recorder.events.drop { $0 != .headersBegan(1) }
        #expect(
            Array(events) == [
                .headersBegan(1), .header(1, ":method", "POST"), .header(1, ":scheme", "https"),
                .header(1, ":path", "/3/device/00"), .header(1, ":authority", "localhost"),
                .headersEnded(1, endStream: false), .data(1, "{}"), .ended(1), .batchEnded,
            ])
    }

    @Test func `The answers of a batch go out in one write`() throws {
        let peer = try EmbeddedPeer.connected()
        peer.recorder.on = { session, event in
            if case .ended(let stream) = event { session.respond(StreamID(stream), .status("200")) }
        }
        try peer.send((0..<50).map { .request(UInt32($0) * 2 + 1, endStream: true) })
        #expect(try peer.receivedWrites() == 1)
        #expect(peer.recorder.closed.count == 50)
    }

    @Test func `Answers handed in at the end of the batch go out with it`() throws {
        let peer = try EmbeddedPeer.connected()
        peer.recorder.on = { session, event in
            guard event == .batchEnded else { return }
            for stream in [1, 3] as [UInt32] { session.respond(StreamID(stream), .status("200")) }
        }
        try peer.channel.writeInbound(
            ByteBuffer(bytes: WireFrame.request(1, endStream: true).bytes + WireFrame.request(3, endStream: true).bytes)
        )
        let first = try #require(try peer.channel.readOutbound(as: ByteBuffer.self))
        #expect(WireFrame.parse(Array(first.readableBytesView)).map(\.stream) == [1, 3])
    }

    @Test func `Answers from outside a read go out in one write`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1, endStream: true), .request(3, endStream: true))
        peer.session.respond(StreamID(1), .status("200"))
        peer.session.respond(StreamID(3), .status("200"), body: ByteBuffer(string: "{}"))
        #expect(try peer.channel.readOutbound(as: ByteBuffer.self) == nil)
        #expect(try peer.receivedWrites() == 1)
    }

    @Test func `A body follows the headers`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1, endStream: true))
        peer.session.respond(StreamID(1), .status("400"), body: ByteBuffer(string: "{\"reason\":\"BadTopic\"}"))
        let frames = try peer.received()
        #expect(frames.map(\.type) == [WireFrame.headers, WireFrame.data])
        #expect(frames.last?.flags == WireFrame.endStream)
        #expect(frames.last?.payload == Array("{\"reason\":\"BadTopic\"}".utf8))
        #expect(peer.recorder.closed == [.closed(1, .noError)])
        #expect(peer.session.bufferedBytes == 0)
    }

    @Test func `A stream is answered once`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1, endStream: true))
        #expect(peer.session.respond(StreamID(1), .status("200")))
        #expect(!peer.session.respond(StreamID(1), .status("200")))
        #expect(!peer.session.respond(StreamID(9), .status("200")))
    }

    @Test func `Trailers are dropped`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1), .data(1, "{}"), .headers(1, literal("checksum", "1"), endStream: true))
        #expect(!peer.recorder.events.contains(.header(1, "checksum", "1")))
        #expect(peer.recorder.events.filter { $0 == .ended(1) }.count == 1)
        #expect(peer.recorder.requests == [1])
    }

    @Test func `An answer before the end of the body is followed by reset`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1), .data(1, "{"))
        peer.session.respond(StreamID(1), .status("413"), body: ByteBuffer(string: "{}"))
        let frames = try peer.received()
        #expect(frames.map(\.type) == [WireFrame.headers, WireFrame.data, WireFrame.reset])
        #expect(frames.last?.number() == HTTP2ErrorCode.noError.rawValue)
        #expect(peer.recorder.closed == [.closed(1, .noError)])
    }

    @Test func `An answer without body before the end of the body is followed by reset`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1))
        peer.session.respond(StreamID(1), .status("413"))
        #expect(try peer.received().map(\.type) == [WireFrame.headers, WireFrame.reset])
        try peer.send(.request(3, endStream: true))
        peer.session.respond(StreamID(3), .status("200"))
        #expect(try peer.received().map(\.type) == [WireFrame.headers])
    }

    @Test func `The body that comes after an early answer is dropped and counted`() throws {
        let peer = try EmbeddedPeer.connected { $0.limits.connectionWindowBytes = 65_535 }
        try peer.send(.request(1))
        peer.session.respond(StreamID(1), .status("413"))
        _ = try peer.received()
        let chunk = String(repeating: "x", count: 16_384)
        try peer.send(.data(1, chunk), .data(1, chunk), .data(1, chunk))
        #expect(!peer.recorder.events.contains(.data(1, chunk)))
        #expect(try peer.received(WireFrame.windowUpdate).contains { $0.stream == 0 })
    }

    @Test func `A value that does not come again stays out of the peers table`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1, endStream: true), .request(3, endStream: true))
        for stream in [1, 3] as [UInt32] {
            var block = FieldList.status("200")
            block.append("apns-id", "0123456789", .neverIndexed)
            peer.session.respond(StreamID(stream), block)
        }
        // 0x88 is `:status: 200`, 0x10 begins a literal never indexed with a new name (RFC 7541, 6.2.3).
        let blocks = try peer.received().map(\.payload)
        #expect(blocks.allSatisfy { $0.starts(with: [0x88, 0x10]) })
        #expect(blocks.first == blocks.last)
    }

    @Test func `A value that comes again is indexed`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1, endStream: true), .request(3, endStream: true))
        for stream in [1, 3] as [UInt32] {
            var block = FieldList.status("200")
            block.append(name: "server", value: "carillon")
            peer.session.respond(StreamID(stream), block)
        }
        #expect(try peer.received().last?.payload == [0x88, 0xbe])
    }

    @Test func `A long header list can be answered`() throws {
        let peer = try EmbeddedPeer.connected { $0.limits.maxHeaderListBytes = 500 }
        peer.recorder.answersTooLargeHeaders = true
        peer.recorder.on = { session, event in
            if case .headersTooLarge(let stream) = event { session.respond(StreamID(stream), .status("431")) }
        }
        try peer.send(.request(1, [("x", String(repeating: "y", count: 500))]))
        #expect(!peer.recorder.events.contains(.headersEnded(1, endStream: false)))
        #expect(try peer.received().map(\.type) == [WireFrame.headers, WireFrame.reset])
    }

    @Test func `A long header list is reset otherwise`() throws {
        let peer = try EmbeddedPeer.connected { $0.limits.maxHeaderListBytes = 500 }
        try peer.send(.request(1, [("x", String(repeating: "y", count: 500))]))
        #expect(try peer.received(WireFrame.reset).map { $0.number() } == [HTTP2ErrorCode.enhanceYourCalm.rawValue])
        #expect(peer.recorder.closed == [.closed(1, .enhanceYourCalm)])
    }

    @Test func `A header list of just the limit is taken`() throws {
        // The four pseudo-header fields of `request`, counted as RFC 9113 (6.5.2) does.
        let pseudo = [
            (":method", "POST"), (":scheme", "https"), (":path", "/3/device/00"), (":authority", "localhost"),
        ]
        let size = pseudo.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count + 32 }
        for (limit, isTaken) in [(size, true), (size - 1, false)] {
            let peer = try EmbeddedPeer.connected { $0.limits.maxHeaderListBytes = limit }
            try peer.send(.request(1))
            #expect(peer.recorder.events.contains(.headersEnded(1, endStream: false)) == isTaken)
        }
    }

    @Test func `A long body can be answered`() throws {
        let peer = try EmbeddedPeer.connected { $0.maxBodyBytes = 4 }
        peer.recorder.answersTooLargeBodies = true
        peer.recorder.on = { session, event in
            if case .bodyTooLarge(let stream) = event { session.respond(StreamID(stream), .status("413")) }
        }
        try peer.send(.request(1), .data(1, "1234"), .data(1, "5"), .data(1, "6"))
        #expect(peer.recorder.events { if case .data = $0 { true } else { false } } == [.data(1, "1234")])
        #expect(peer.recorder.events.filter { $0 == .bodyTooLarge(1) }.count == 1)
        #expect(try peer.received().map(\.type) == [WireFrame.headers, WireFrame.reset])
    }

    @Test func `A long body is reset otherwise`() throws {
        let peer = try EmbeddedPeer.connected { $0.maxBodyBytes = 4 }
        try peer.send(.request(1), .data(1, "12345"))
        #expect(try peer.received(WireFrame.reset).map { $0.number() } == [HTTP2ErrorCode.cancel.rawValue])
    }

    @Test func `A malformed request is reset and closed once`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.headers(1, [0x83, 0x87], endStream: true))
        #expect(try peer.received(WireFrame.reset).map { $0.number() } == [HTTP2ErrorCode.protocolError.rawValue])
        #expect(peer.recorder.closed == [.closed(1, .protocolError)])
        #expect(peer.channel.isActive)
    }

    @Test func `The application learns how each field was encoded, and of PRIORITY`() throws {
        let peer = try EmbeddedPeer.connected()
        let priority = WireFrame(type: WireFrame.priority, flags: 0, stream: 3, payload: [0, 0, 0, 0, 16])
        try peer.send(.headers(1, WireFrame.requestBlock + indexedLiteral("a", "b"), endStream: true), priority)
        #expect(peer.recorder.forms == [.indexed, .indexed, .withoutIndexing, .withoutIndexing, .incremental])
        #expect(peer.recorder.priorities == [3])
    }

    @Test func `The application learns of a malformed request, and nothing else of it`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.headers(1, [0x83, 0x87]), .data(1, "x", endStream: true))
        #expect(peer.recorder.events.suffix(3) == [.headersBegan(1), .closed(1, .protocolError), .batchEnded])
        #expect(try peer.received(WireFrame.reset).map(\.stream) == [1])
    }
}
