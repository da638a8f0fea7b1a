import HTTP2
import NIOEmbedded
import Testing

/// What is read more leniently than RFC 9113 says, and what is not. docs/threat-model.md has the table.
@Suite struct LenienceTests {
    /// Checks that the connection goes on: a PING comes back, and the next request arrives.
    private func expectItGoesOn(_ peer: EmbeddedPeer, with stream: UInt32, after requests: [UInt32]) throws {
        try peer.send(.ping(7), .request(stream, endStream: true))
        let frames = try peer.received()
        #expect(frames.filter { $0.type == WireFrame.ping } == [.ping(7, acknowledge: true)])
        #expect(!frames.contains { $0.type == WireFrame.goAway })
        #expect(peer.recorder.requests == requests + [stream])
        #expect(peer.channel.isActive)
    }

    private func expectItEnds(_ peer: EmbeddedPeer, _ code: HTTP2ErrorCode) throws {
        let goAways = try peer.received(WireFrame.goAway)
        #expect(goAways.map { $0.number(at: 4) } == [code.rawValue])
        #expect(!peer.channel.isActive)
    }

    @Test func `RFC 9113, 5.1.1: a request on a stream that was skipped ends the connection`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(5, endStream: true))
        try peer.send(.request(3))
        try expectItEnds(peer, .protocolError)
    }

    @Test func `RFC 9113, 5.1: a request on a stream that the client has reset ends the connection`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1), .reset(1), .request(1))
        try expectItEnds(peer, .streamClosed)
    }

    @Test func `Late frames on a stream that the server has reset are ignored`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1))
        peer.session.reset(StreamID(1), .cancel)
        _ = try peer.received()
        try peer.send(.data(1, "x"), .request(1, endStream: true))
        try expectItGoesOn(peer, with: 3, after: [1])
    }

    @Test func `RFC 9113, 6.3: priority on the connection ends it`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(WireFrame(type: WireFrame.priority, payload: [0, 0, 0, 0, 16]))
        try expectItEnds(peer, .protocolError)
    }

    @Test func `RFC 9113, 6.9.2: settings that overflow a streams window end the connection`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1), .windowUpdate(1, 0x7fff_ffff - 65_535))
        try peer.send(.settings([(4, 65_536)]))
        try expectItEnds(peer, .flowControlError)
    }
}
