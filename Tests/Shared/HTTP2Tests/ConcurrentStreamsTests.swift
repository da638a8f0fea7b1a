import HTTP2
import NIOCore
import NIOEmbedded
import Testing

@Suite struct ConcurrentStreamsTests {
    private static func one(_ configuration: inout HTTP2Configuration) {
        configuration.limits.maxConcurrentStreams = 10
        configuration.limits.announcedConcurrentStreams = 1
    }

    private func requests(_ streams: UInt32...) -> [WireFrame] { streams.map { .request($0) } }

    @Test func `Streams opened before the acknowledgement are served`() throws {
        let peer = try EmbeddedPeer(.server, Self.one)
        try peer.send(WireFrame.preface + (requests(1, 3, 5)).flatMap(\.bytes).withSettings)
        #expect(peer.recorder.requests == [1, 3, 5])
        #expect(try peer.received(WireFrame.reset).isEmpty)
    }

    @Test func `Streams over the acknowledged number are refused`() throws {
        let peer = try EmbeddedPeer.connected(Self.one)
        try peer.send(requests(1, 3, 5))
        #expect(peer.recorder.requests == [1])
        let resets = try peer.received(WireFrame.reset)
        #expect(resets.map(\.stream) == [3, 5])
        #expect(resets.allSatisfy { $0.number() == HTTP2ErrorCode.refusedStream.rawValue })
        #expect(peer.recorder.closed.isEmpty)
    }

    @Test func `The body of a refused stream is not told`() throws {
        let peer = try EmbeddedPeer.connected(Self.one)
        try peer.send(.request(1), .request(3), .data(3, "{}", endStream: true))
        #expect(!peer.recorder.events.contains(.data(3, "{}")))
        #expect(!peer.recorder.events.contains(.ended(3)))
    }

    @Test func `A refused stream leaves the header table in step`() throws {
        let peer = try EmbeddedPeer.connected(Self.one)
        try peer.send(.request(1), .headers(3, WireFrame.requestBlock + indexedLiteral("a", "b")), .reset(1))
        try peer.send(.headers(5, WireFrame.requestBlock + [0xbe]))
        #expect(peer.recorder.events.contains(.header(5, "a", "b")))
    }

    @Test func `A place is free again when a stream is closed`() throws {
        let peer = try EmbeddedPeer.connected(Self.one)
        peer.recorder.on = { session, event in
            if case .headersEnded(let stream, _) = event { session.respond(StreamID(stream), .status("200")) }
        }
        for stream in [1, 3, 5] as [UInt32] { try peer.send(.request(stream, endStream: true)) }
        #expect(peer.recorder.requests == [1, 3, 5])
    }

    @Test func `The number rises`() throws {
        let peer = try EmbeddedPeer.connected(Self.one)
        peer.session.announce(concurrentStreams: 3)
        #expect(try peer.received(WireFrame.settings).first?.settings == [3: 3])
        try peer.send([.settingsAcknowledgement] + requests(1, 3, 5, 7))
        #expect(peer.recorder.requests == [1, 3, 5])
    }

    @Test func `The number falls`() throws {
        let peer = try EmbeddedPeer.connected { $0.limits.maxConcurrentStreams = 10 }
        peer.session.announce(concurrentStreams: 1)
        #expect(try peer.received(WireFrame.settings).first?.settings == [3: 1])
        // Until the peer acknowledges, the old limit is valid. Open streams stay open.
        try peer.send(requests(1, 3))
        try peer.send([.settingsAcknowledgement] + requests(5))
        #expect(peer.recorder.requests == [1, 3])
        #expect(peer.recorder.closed.isEmpty)
        try peer.send([.reset(1), .reset(3)] + requests(7, 9))
        #expect(peer.recorder.requests == [1, 3, 7])
    }

    @Test func `A missing acknowledgement is seen`() throws {
        let peer = try EmbeddedPeer.connected { $0.limits.maxConcurrentStreams = 10 }
        #expect(!peer.session.hasUnacknowledgedSettings)
        peer.session.announce(concurrentStreams: 1)
        _ = try peer.received()
        #expect(peer.session.hasUnacknowledgedSettings)
        try peer.send(.settingsAcknowledgement)
        #expect(!peer.session.hasUnacknowledgedSettings)
    }

    @Test(arguments: [10, 1_000])
    func `The same number is not announced again`(_ number: Int) throws {
        let peer = try EmbeddedPeer.connected { $0.limits.maxConcurrentStreams = 10 }
        peer.session.announce(concurrentStreams: number)
        #expect(try peer.received().isEmpty)
    }

    /// A SETTINGS frame for each change would fill the connection.
    @Test func `A change waits while four announcements are not acknowledged`() throws {
        let peer = try EmbeddedPeer.connected { $0.limits.maxConcurrentStreams = 10 }
        for number in 1...6 { peer.session.announce(concurrentStreams: number) }
        #expect(try peer.received(WireFrame.settings).map { $0.settings[3] } == [1, 2, 3, 4])
        try peer.send(.settingsAcknowledgement)
        #expect(try peer.received(WireFrame.settings).map { $0.settings[3] } == [6])
    }

    @Test func `A change that was taken back is not announced`() throws {
        let peer = try EmbeddedPeer.connected { $0.limits.maxConcurrentStreams = 10 }
        for number in [1, 2, 3, 4, 9, 4] { peer.session.announce(concurrentStreams: number) }
        _ = try peer.received()
        try peer.send(.settingsAcknowledgement)
        #expect(try peer.received(WireFrame.settings).isEmpty)
    }
}

extension [UInt8] {
    /// An empty SETTINGS frame, which completes the connection preface, and then these bytes.
    fileprivate var withSettings: [UInt8] { WireFrame.settings().bytes + self }
}
