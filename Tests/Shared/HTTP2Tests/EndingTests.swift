import NIOCore
import NIOEmbedded
import Testing

@testable import HTTP2

/// However a session ends, each stream is closed once and the session ends once.
@Suite struct EndingTests {
    private func expectOnce(_ peer: EmbeddedPeer, _ over: String) {
        #expect(Set(peer.recorder.closed.map { "\($0)" }).count == peer.recorder.closed.count)
        #expect(peer.recorder.closed.count == peer.recorder.requests.count)
        #expect(peer.recorder.over == [over])
        #expect(peer.session.streams.count == 0)
    }

    private func twoOpen() throws -> EmbeddedPeer {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1), .request(3))
        return peer
    }

    @Test func `The peer closes the connection`() throws {
        let peer = try twoOpen()
        peer.channel.close(promise: nil)
        peer.run()
        expectOnce(peer, "closed by the peer")
    }

    /// The application may be used for the host's next address.
    @Test func `The application is not told of the end of a channel that could not connect`() throws {
        let (channel, recorder) = (EmbeddedChannel(), Recorder())
        let session = HTTP2Session(role: .client, configuration: .init(), application: recorder)
        try channel.pipeline.syncOperations.addHandler(session)
        channel.close(promise: nil)
        channel.embeddedEventLoop.run()
        #expect(recorder.over.isEmpty)
    }

    @Test func `The application closes`() throws {
        let peer = try twoOpen()
        peer.session.close()
        peer.session.close()
        peer.run()
        expectOnce(peer, "closed")
    }

    @Test func `A session that is closed writes what its channel takes later`() throws {
        let peer = try twoOpen()
        peer.setWritable(false)
        for stream in [StreamID(1), StreamID(3)] { peer.session.respond(stream, .status("200")) }
        peer.session.close()
        peer.run()
        peer.setWritable(true)
        #expect(try peer.received(WireFrame.headers).map(\.stream) == [1, 3])
    }

    @Test func `A closed session whose channel takes nothing ends after the time limit`() throws {
        let peer = try twoOpen()
        peer.setWritable(false)
        peer.session.respond(StreamID(1), .status("200"))
        peer.session.close()
        peer.run()
        peer.channel.embeddedEventLoop.advanceTime(by: .seconds(peer.session.configuration.closeTimeoutSeconds))
        peer.run()
        expectOnce(peer, "closed")
    }

    @Test(arguments: [
        Recorder.Event.headersBegan(3), .header(3, ":path", "/3/device/00"), .headersEnded(3, endStream: false),
        .data(3, "x"), .ended(3), .batchEnded,
    ])
    func `The application closes within a call`(_ moment: Recorder.Event) throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1))
        peer.recorder.on = { session, event in
            if event == moment { session.close() }
        }
        try peer.send(.request(3), .data(3, "x", endStream: true), .request(5))
        peer.run()
        expectOnce(peer, "closed")
    }

    @Test func `The channel dies within a call`() throws {
        let peer = try EmbeddedPeer.connected()
        let channel = peer.channel
        peer.recorder.on = { _, event in
            if event == .headersEnded(3, endStream: false) { channel.close(promise: nil) }
        }
        try peer.send(.request(1), .request(3), .request(5))
        peer.run()
        #expect(peer.recorder.closed.count == peer.recorder.requests.count)
        #expect(peer.recorder.over == ["closed by the peer"])
    }

    @Test func `The channel dies while streams are being closed`() throws {
        let peer = try twoOpen()
        let channel = peer.channel
        peer.recorder.on = { _, event in
            if case .closed = event { channel.close(promise: nil) }
        }
        peer.session.reset(StreamID(1), .cancel)
        peer.run()
        expectOnce(peer, "closed by the peer")
    }

    @Test func `A reset`() throws {
        let peer = try twoOpen()
        peer.session.reset(StreamID(1), .refusedStream)
        peer.session.reset(StreamID(1), .cancel)
        try peer.send(.reset(3), .data(1, "late"))
        #expect(Set(peer.recorder.closed.map { "\($0)" }) == ["closed(1, REFUSED_STREAM)", "closed(3, CANCEL)"])
        #expect(peer.recorder.closed.count == 2)
        #expect(!peer.recorder.events.contains(.data(1, "late")))
    }

    @Test func `RFC 9113, 5.4.1: the channel is closed after the GOAWAY of a connection error`() throws {
        let peer = try twoOpen()
        try peer.send(.data(0, "x"))
        #expect(peer.recorder.closed.count == 2)
        #expect(peer.recorder.over.first?.hasPrefix("PROTOCOL_ERROR") == true)
        #expect(try peer.received(WireFrame.goAway).first?.number() == 3)
        #expect(!peer.channel.isActive)
    }

    /// The application does not know of a request before all its fields have come.
    @Test func `A session with half a field block is closed after the time of a request`() throws {
        let peer = try EmbeddedPeer.connected()
        let now = peer.channel.embeddedEventLoop.now
        let timeout = TimeAmount.seconds(10)
        #expect(!peer.session.closeIfFieldsAreOverdue(after: timeout, now: now + .seconds(11)))
        try peer.send([0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82])
        #expect(!peer.session.closeIfFieldsAreOverdue(after: timeout, now: now + .seconds(10)))
        #expect(peer.session.closeIfFieldsAreOverdue(after: timeout, now: now + .seconds(11)))
        #expect(!peer.session.closeIfFieldsAreOverdue(after: timeout, now: now + .seconds(12)))
        peer.run()
        #expect(!peer.channel.isActive)
    }

    @Test func `A failure of the channel`() throws {
        struct Broken: Error {}
        let peer = try twoOpen()
        peer.channel.pipeline.fireErrorCaught(Broken())
        peer.run()
        expectOnce(peer, "channel error: Broken()")
    }

    @Test func `The session lets go of its application`() throws {
        weak var application: Recorder?
        var session: HTTP2Session?
        do {
            let recorder = Recorder()
            application = recorder
            let made = HTTP2Session(role: .server, configuration: .init(), application: recorder)
            session = made
            let channel = EmbeddedChannel(handler: made)
            channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
            channel.close(promise: nil)
            channel.embeddedEventLoop.run()
        }
        #expect(session != nil)
        #expect(application == nil)
    }

    @Test func `Nothing works after the end`() throws {
        let peer = try twoOpen()
        peer.channel.close(promise: nil)
        peer.run()
        #expect(!peer.session.respond(StreamID(1), .status("200")))
        #expect(peer.session.write(StreamID(1), ByteBuffer(string: "x")) == .closed)
        peer.session.ping(1)
        peer.session.goAway(.noError)
        peer.session.drain()
        peer.session.announce(concurrentStreams: 1)
        peer.session.close()
        peer.run()
        #expect(peer.recorder.over.count == 1)
    }
}
