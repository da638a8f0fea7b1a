import HTTP2
import NIOCore
import NIOEmbedded
import Rates
import Testing

@Suite struct FloodTests {
    /// Sends until the session has ended, and checks that it ended with ENHANCE_YOUR_CALM and the right reason.
    private func expectFlood(
        _ kind: FloodKind,
        _ peer: EmbeddedPeer,
        times: Int,
        _ frames: (UInt32) -> [WireFrame]
    ) throws {
        for number in 0..<UInt32(times) where peer.channel.isActive {
            try peer.send(frames(number))
        }
        #expect(peer.recorder.over == ["flood of \(kind.rawValue)"])
        let goAway = try #require(try peer.received(WireFrame.goAway).last)
        #expect(goAway.number(at: 4) == HTTP2ErrorCode.enhanceYourCalm.rawValue)
        #expect(peer.recorder.closed.count == peer.recorder.requests.count)
    }

    @Test func `Rapid reset`() throws {
        let peer = try EmbeddedPeer.connected { $0.limits.flood.resets = .init(burst: 100, perSecond: 1) }
        try expectFlood(.resets, peer, times: 101) { [.request($0 * 2 + 1), .reset($0 * 2 + 1)] }
        #expect(peer.recorder.requests.count == 101)
    }

    /// After the session has ended, TLS waits for the peer's close_notify, and would decrypt everything that the peer
    /// sends meanwhile.
    @Test func `Nothing more is read of a flood`() throws {
        let peer = try EmbeddedPeer.connected { $0.limits.flood.pings = .init(burst: 10, perSecond: 1) }
        try expectFlood(.pings, peer, times: 11) { _ in [.ping(1)] }
        let stopped = peer.channel.options.contains {
            $0.option is ChannelOptions.Types.AutoReadOption && $0.value as? Bool == false
        }
        #expect(stopped)
    }

    @Test func `Resets within the rate are served`() throws {
        let peer = try EmbeddedPeer.connected { $0.limits.flood.resets = .init(burst: 10, perSecond: 1) }
        for number in 0..<50 as Range<UInt32> {
            try peer.send(.request(number * 2 + 1), .reset(number * 2 + 1))
            peer.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        }
        #expect(peer.channel.isActive)
    }

    /// libcurl resets each stream after an answer without a body. Nothing was begun in vain.
    @Test func `Resets of answered streams are no flood`() throws {
        let peer = try EmbeddedPeer.connected { $0.limits.flood.resets = .init(burst: 10, perSecond: 1) }
        peer.recorder.on = { session, event in
            if case .headersEnded(let stream, _) = event { session.respond(StreamID(stream), .status("200")) }
        }
        for number in 0..<5_000 as Range<UInt32> {
            try peer.send(.request(number * 2 + 1, endStream: true))
            try peer.send(.reset(number * 2 + 1))
        }
        #expect(peer.channel.isActive)
        #expect(peer.recorder.requests.count == 5_000)
    }

    @Test func `Repeated resets of a closed stream are a flood`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1), .reset(1))
        try expectFlood(.idleFrames, peer, times: 2_100) { _ in [.reset(1)] }
    }

    @Test func `Streams that the peer makes us reset`() throws {
        let peer = try EmbeddedPeer.connected { $0.limits.flood.resets = .init(burst: 100, perSecond: 1) }
        // A window over 2^31-1 is a stream error (RFC 9113, 6.9.1).
        try expectFlood(.resets, peer, times: 101) { [.request($0 * 2 + 1), .windowUpdate($0 * 2 + 1, 0x7fff_ffff)] }
    }

    @Test func `Malformed requests`() throws {
        let peer = try EmbeddedPeer.connected { $0.limits.flood.resets = .init(burst: 100, perSecond: 1) }
        try expectFlood(.resets, peer, times: 101) { [.headers($0 * 2 + 1, [0x83, 0x87], endStream: true)] }
    }

    @Test func `Streams over the acknowledged number`() throws {
        let peer = try EmbeddedPeer.connected {
            $0.limits.flood.resets = .init(burst: 100, perSecond: 1)
            $0.limits.announcedConcurrentStreams = 1
        }
        try peer.send(.request(1))
        try expectFlood(.resets, peer, times: 101) { [.request($0 * 2 + 3)] }
        #expect(peer.recorder.requests == [1])
    }

    @Test func `Settings`() throws {
        let peer = try EmbeddedPeer.connected()
        try expectFlood(.settings, peer, times: 100) { _ in [.settings()] }
    }

    @Test func `Pings`() throws {
        let peer = try EmbeddedPeer.connected()
        try expectFlood(.pings, peer, times: 300) { [.ping(UInt64($0))] }
    }

    @Test func `Pings whose answers are not read`() throws {
        let peer = try EmbeddedPeer.connected { $0.limits.flood.pings = .init(burst: 10_000, perSecond: 1) }
        peer.setWritable(false)
        for number in 0..<5_000 where peer.channel.isActive { try peer.send(.ping(UInt64(number))) }
        peer.setWritable(true)
        #expect(peer.recorder.over == ["flood of unread answers"])
    }

    @Test func `Priorities`() throws {
        let peer = try EmbeddedPeer.connected()
        let priority = WireFrame(type: WireFrame.priority, stream: 1, payload: [0, 0, 0, 0, 15])
        try expectFlood(.idleFrames, peer, times: 2_100) { _ in [priority] }
    }

    @Test func `A priority is passed over and a ping is answered`() throws {
        let peer = try EmbeddedPeer.connected()
        let priority = WireFrame(type: WireFrame.priority, stream: 1, payload: [0, 0, 0, 0, 15])
        try peer.send(priority, .request(1), .ping(7))
        #expect(peer.recorder.requests == [1])
        #expect(try peer.received() == [.ping(7, acknowledge: true)])
    }

    @Test func `Window updates`() throws {
        let peer = try EmbeddedPeer.connected()
        try expectFlood(.idleFrames, peer, times: 2_100) { _ in [.windowUpdate(0, 1)] }
    }

    @Test func `Unknown frames`() throws {
        let peer = try EmbeddedPeer.connected()
        try expectFlood(.idleFrames, peer, times: 2_100) { _ in [WireFrame(type: 0xfa, payload: [1])] }
    }

    @Test func `Empty data`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1))
        try expectFlood(.idleFrames, peer, times: 2_100) { _ in [.data(1)] }
    }

    @Test(arguments: [[0], [2, 0, 0]] as [[UInt8]]) func `Data that is only padding`(payload: [UInt8]) throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1))
        try expectFlood(.idleFrames, peer, times: 2_100) { _ in
            [WireFrame(type: WireFrame.data, flags: 0x8, stream: 1, payload: payload)]
        }
    }

    @Test func `Data of a stream that is closed`() throws {
        let peer = try EmbeddedPeer.connected { $0.limits.flood.ignoredBytes = .init(burst: 10_000, perSecond: 1) }
        try peer.send(.request(1), .reset(1))
        let data = String(repeating: "x", count: 1000)
        try expectFlood(.ignoredBytes, peer, times: 11) { _ in [.data(1, data)] }
    }

    @Test func `One byte at a time of a stream that is closed`() throws {
        let peer = try EmbeddedPeer.connected { $0.limits.flood.ignoredBytes = .init(burst: 10_000, perSecond: 1) }
        try peer.send(.request(1), .reset(1))
        try expectFlood(.ignoredBytes, peer, times: 1100) { _ in [.data(1, "x")] }
    }

    @Test func `What was on its way when its streams were reset is no flood`() throws {
        let peer = try EmbeddedPeer.connected()
        let data = String(repeating: "x", count: 16_383)
        for stream in stride(from: 1, to: 33, by: 2) as StrideTo<UInt32> {
            try peer.send(.request(stream), .reset(stream))
            try peer.send((0..<4).map { _ in .data(stream, data) })
        }
        try peer.send(.ping(7))
        #expect(peer.channel.isActive)
        #expect(try peer.received(WireFrame.ping).count == 1)
    }

    /// Streams that a client opened before it knew that the connection ends are ignored, however many there are.
    @Test func `What is ignored while the session drains is no flood`() throws {
        let peer = try EmbeddedPeer.connected { $0.limits.flood.ignoredBytes = .init(burst: 1000, perSecond: 1) }
        try peer.send(.request(1))
        peer.session.goAway(.noError)
        let data = String(repeating: "x", count: 1000)
        for stream in [3, 5, 7] as [UInt32] { try peer.send(.request(stream), .data(stream, data)) }
        #expect(peer.channel.isActive)
    }

    @Test func `Data after the answer`() throws {
        let peer = try EmbeddedPeer.connected { $0.earlyReset = .onceRead }
        peer.recorder.on = { session, event in
            if case .headersEnded(let stream, _) = event { session.respond(StreamID(stream), .status("403")) }
        }
        try peer.send(.request(1))
        try expectFlood(.idleFrames, peer, times: 2_100) { _ in [.data(1, "x")] }
    }

    @Test func `An answered request gets no more window`() throws {
        let peer = try EmbeddedPeer.connected { $0.earlyReset = .onceRead }
        peer.recorder.on = { session, event in
            if case .headersEnded(let stream, _) = event { session.respond(StreamID(stream), .status("403")) }
        }
        try peer.send(.request(1))
        try peer.send((0..<4).map { _ in .data(1, String(repeating: "x", count: 16_000)) })
        #expect(try peer.received(WireFrame.windowUpdate).allSatisfy { $0.stream == 0 })
        #expect(peer.channel.isActive)
    }

    @Test func `Trailers without end`() throws {
        let peer = try EmbeddedPeer.connected()
        // Header blocks on a stream that the server has reset are decoded and ignored.
        try peer.send(.request(1))
        peer.session.reset(StreamID(1), .cancel)
        try expectFlood(.idleFrames, peer, times: 2_100) { _ in [.headers(1, literal("a", "b"), endStream: true)] }
    }

    @Test func `Continuations`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.headers(1, WireFrame.requestBlock, endHeaders: false))
        let more = WireFrame(type: WireFrame.continuation, stream: 1, payload: literal("x", "y"))
        try expectFlood(.continuations, peer, times: 20) { _ in [more] }
    }

    @Test func `A few continuations are fine`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.headers(1, WireFrame.requestBlock, endHeaders: false))
        for isLast in [false, false, true] {
            let flags = isLast ? WireFrame.endHeaders : 0
            try peer.send(
                WireFrame(type: WireFrame.continuation, flags: flags, stream: 1, payload: literal("x", "y")))
        }
        #expect(peer.recorder.events.filter { $0 == .header(1, "x", "y") }.count == 3)
    }

    @Test func `Header bomb`() throws {
        let peer = try EmbeddedPeer.connected()
        // The block puts one field of 4,000 bytes into the dynamic table, where 0xbe then refers to it.
        let block = WireFrame.requestBlock + indexedLiteral("x", String(repeating: "y", count: 4_000))
        try expectFlood(.headers, peer, times: 1) { _ in
            [.headers(1, block + [UInt8](repeating: 0xbe, count: 10_000))]
        }
        // The whole block is read before a request is reported.
        #expect(peer.recorder.requests.isEmpty)
    }

    @Test func `Header bomb in trailers`() throws {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1))
        let block = indexedLiteral("x", String(repeating: "y", count: 4_000)) + [UInt8](repeating: 0xbe, count: 10_000)
        try expectFlood(.headers, peer, times: 1) { _ in [.headers(1, block, endStream: true)] }
    }

    @Test func `Too many settings in one frame`() throws {
        let peer = try EmbeddedPeer.connected()
        try expectFlood(.settingsEntries, peer, times: 1) { _ in [.settings((0..<33).map { _ in (4, 65_535) })] }
    }

    @Test func `Answers that are not read`() throws {
        let peer = try EmbeddedPeer.connected { $0.maxQueuedFrames = 100 }
        peer.recorder.on = { session, event in
            if case .headersEnded(let stream, _) = event { session.respond(StreamID(stream), .status("200")) }
        }
        peer.setWritable(false)
        try peer.send((0..<200).map { .request(UInt32($0) * 2 + 1, endStream: true) })
        #expect(peer.recorder.over == ["the peer does not read the answers"])
        #expect(!peer.channel.isActive)
    }
}
