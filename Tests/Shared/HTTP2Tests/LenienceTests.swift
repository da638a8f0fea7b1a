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

    @Test func `A request on a smaller stream is ignored`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(5, endStream: true))
        try peer.send(.request(3), .data(3, "x", endStream: true))
        #expect(try peer.received().allSatisfy { $0.stream != 3 })
        try expectItGoesOn(peer, with: 7, after: [5])
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
