import HTTP2
import NIOCore
import NIOEmbedded
import Rates
import Testing

/// The reset of a stream whose answer came before its body had ended, for clients such as curl 7.88, which drop an
/// answer if the reset comes with it.
@Suite struct EarlyResetTests {
    /// The payload of the PING that follows early answers: "answered".
    private static let payload: UInt64 = 0x616e_7377_6572_6564
    private static let acknowledgement = WireFrame.ping(payload, acknowledge: true)

    private func peer() throws -> EmbeddedPeer { try EmbeddedPeer.connected { $0.earlyReset = .onceRead } }

    private func answer(_ stream: UInt32, of peer: EmbeddedPeer) throws {
        try peer.send(.request(stream), .data(stream, "{"))
        peer.session.respond(StreamID(stream), .status("413"), body: ByteBuffer(string: "{}"))
    }

    /// The streams that are reset when the delay has passed.
    private func resets(of peer: EmbeddedPeer) throws -> [UInt32] {
        peer.channel.embeddedEventLoop.advanceTime(
            by: .milliseconds(peer.session.configuration.earlyResetDelayMilliseconds))
        return try peer.received(WireFrame.reset).map(\.stream)
    }

    @Test func `A PING follows the answer, and the reset comes a moment after its acknowledgement`() throws {
        let peer = try peer()
        try answer(1, of: peer)
        let frames = try peer.received()
        #expect(frames.map(\.type) == [WireFrame.headers, WireFrame.data, WireFrame.ping])
        #expect(frames.last == .ping(Self.payload))
        try peer.send(Self.acknowledgement)
        #expect(try peer.received().isEmpty)
        #expect(try resets(of: peer) == [1])
        #expect(peer.recorder.closed == [.closed(1, .noError)])
        #expect(!peer.recorder.events.contains(.pong(Self.payload)))
    }

    @Test func `A client that does not acknowledge it keeps the stream`() throws {
        let peer = try peer()
        try answer(1, of: peer)
        _ = try peer.received()
        peer.channel.embeddedEventLoop.advanceTime(by: .minutes(1))
        #expect(try peer.received().isEmpty)
    }

    @Test func `A stream that has ended meanwhile is not reset`() throws {
        let peer = try peer()
        try answer(1, of: peer)
        try peer.send(.data(1, "}", endStream: true), Self.acknowledgement)
        #expect(try resets(of: peer).isEmpty)
        #expect(peer.recorder.closed == [.closed(1, .noError)])
    }

    @Test func `Answers that are sent meanwhile share the next PING`() throws {
        let peer = try peer()
        try answer(1, of: peer)
        #expect(try peer.received(WireFrame.ping).count == 1)
        for stream in [3, 5] as [UInt32] { try answer(stream, of: peer) }
        #expect(try peer.received(WireFrame.ping).isEmpty)
        try peer.send(Self.acknowledgement)
        peer.channel.embeddedEventLoop.advanceTime(
            by: .milliseconds(peer.session.configuration.earlyResetDelayMilliseconds))
        let frames = try peer.received()
        #expect(frames.filter { $0.type == WireFrame.reset }.map(\.stream) == [1])
        #expect(frames.filter { $0.type == WireFrame.ping }.count == 1)
        try peer.send(Self.acknowledgement)
        #expect(try resets(of: peer).sorted() == [3, 5])
    }

    @Test func `An acknowledgement that nobody asked for does nothing`() throws {
        let peer = try peer()
        try peer.send(Self.acknowledgement)
        try answer(1, of: peer)
        #expect(try peer.received(WireFrame.ping).count == 1)
        #expect(try resets(of: peer).isEmpty)
    }

    /// Each early answer costs the client an acknowledgement that it did not choose to send.
    @Test func `Acknowledgements of these PINGs are no flood`() throws {
        let peer = try EmbeddedPeer.connected {
            $0.earlyReset = .onceRead
            $0.limits.flood.pings = .init(burst: 1, perSecond: 1)
        }
        for stream in stride(from: UInt32(1), to: 41, by: 2) {
            try answer(stream, of: peer)
            try peer.send(Self.acknowledgement)
            #expect(try resets(of: peer) == [stream])
        }
        #expect(peer.channel.isActive)
    }

    @Test func `The end of the connection waits for the answer to be read, and for nothing else`() throws {
        let peer = try peer()
        try answer(1, of: peer)
        peer.session.goAwayOnceAnswered()
        #expect(try peer.received(WireFrame.goAway).count == 1)
        try peer.send(Self.acknowledgement)
        #expect(try resets(of: peer) == [1])
        #expect(peer.recorder.over == ["drained"])
    }
}
