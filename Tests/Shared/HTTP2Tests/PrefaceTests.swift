import HTTP2
import NIOEmbedded
import Testing

@Suite struct PrefaceTests {
    @Test func `A server sends its settings first`() throws {
        let peer = try EmbeddedPeer { $0.limits.announcedConcurrentStreams = 1 }
        let settings = try #require(try peer.received().first)
        #expect(settings.type == WireFrame.settings)
        #expect(settings.settings[3] == 1)
        #expect(settings.settings[6] == 8_000)
    }

    @Test func `A client sends its preface and settings first`() throws {
        let peer = try EmbeddedPeer(.client)
        let bytes = try peer.receivedBytes()
        #expect(bytes.starts(with: WireFrame.preface))
        #expect(WireFrame.parse(bytes).first?.settings[2] == 0)
    }

    @Test func `The preface is known to have come`() throws {
        let peer = try EmbeddedPeer()
        try peer.send(WireFrame.preface)
        #expect(!peer.session.hasReceivedPreface)
        try peer.send(.settings())
        #expect(peer.session.hasReceivedPreface)
    }

    @Test(arguments: ["GET / HTTP/1.1\r\n\r\n", "POST /3/device/00 HTTP/1.1\r\n", "PUT", "G", "PRI * HTTP/1.1\r\n"])
    func `Plain HTTP 1 is called by its name`(_ start: String) throws {
        let peer = try EmbeddedPeer()
        try peer.send(Array(start.utf8))
        #expect(peer.recorder.over == ["the peer speaks HTTP/1"])
        #expect(!peer.channel.isActive)
    }

    @Test(arguments: [
        [0x16, 0x03, 0x01, 0x02], [0x00], Array("hello there".utf8), Array("GETTHISBYTESTREAMNOW ".utf8),
    ])
    func `Garbage ends the session`(_ start: [UInt8]) throws {
        let peer = try EmbeddedPeer()
        try peer.send(start)
        #expect(peer.recorder.over == ["the peer does not speak HTTP/2"])
        #expect(!peer.channel.isActive)
    }

    @Test func `A client tells that the server speaks HTTP 1`() throws {
        let peer = try EmbeddedPeer(.client)
        try peer.send(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
        #expect(peer.recorder.over == ["the peer speaks HTTP/1"])
    }

    @Test func `A first frame that is not settings ends the session`() throws {
        let peer = try EmbeddedPeer()
        try peer.send(WireFrame.preface + WireFrame.ping(1).bytes)
        #expect(peer.recorder.over.count == 1)
        #expect(try peer.received(WireFrame.goAway).first?.number(at: 4) == HTTP2ErrorCode.protocolError.rawValue)
    }

    @Test func `One byte at a time is the same conversation`() throws {
        let peer = try EmbeddedPeer()
        let bytes =
            WireFrame.preface + WireFrame.settings().bytes + WireFrame.request(1, [("apns-id", "x")]).bytes
            + WireFrame.data(1, "{}", endStream: true).bytes
        for byte in bytes { try peer.send([byte]) }
        let events = peer.recorder.events { $0 != .batchEnded }
        #expect(
            events.suffix(5) == [
                .header(1, "apns-id", "x"), .headersEnded(1, endStream: false), .data(1, "{"), .data(1, "}"), .ended(1),
            ])
    }
}
