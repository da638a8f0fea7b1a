import HTTP2
import NIOCore
import Testing

/// Frames that arrive in two reads, split at every byte, take effect with the second read.
@Suite struct CutFrameTests {
    private func sendCut(_ frame: WireFrame, after count: Int, to peer: EmbeddedPeer) throws {
        try peer.send(Array(frame.bytes.prefix(count)))
        try peer.send(Array(frame.bytes.dropFirst(count)))
    }

    /// Calls `body` with each position at which the frame can be cut.
    private func atEachCut(of frame: WireFrame, _ body: (Int) throws -> Void) rethrows {
        for count in 1..<frame.bytes.count { try body(count) }
    }

    /// A server with data to send that has to wait, because the client's flow-control windows are used up.
    private func blocked() throws -> EmbeddedPeer {
        let peer = try EmbeddedPeer.connected()
        try peer.send(.request(1, endStream: true))
        peer.session.sendHeaders(StreamID(1), .status("200"), endStream: false)
        peer.session.write(StreamID(1), ByteBuffer(repeating: UInt8(ascii: "x"), count: 100_000))
        _ = try peer.received()
        return peer
    }

    @Test func `A window opens`() throws {
        for (open, cut) in [(UInt32(0), UInt32(1)), (1, 0)] {
            let frame = WireFrame.windowUpdate(cut, 100_000)
            try atEachCut(of: frame) { count in
                let peer = try blocked()
                try peer.send(.windowUpdate(open, 100_000))
                try sendCut(frame, after: count, to: peer)
                let sent = try peer.received(WireFrame.data).reduce(0) { $0 + $1.payload.count }
                #expect(sent == 100_000 - 65_535, "cut after \(count) bytes")
            }
        }
    }

    @Test func `The last frame of a drained connection ends it`() throws {
        for frame in [WireFrame.data(1, "last", endStream: true), .reset(1)] {
            try atEachCut(of: frame) { count in
                let peer = try EmbeddedPeer.connected { $0.earlyReset = .onceRead }
                try peer.send(.request(1))
                peer.session.respond(StreamID(1), .status("200"))
                peer.session.goAway(.noError)
                _ = try peer.received()
                try sendCut(frame, after: count, to: peer)
                #expect(peer.recorder.over == ["drained"], "cut after \(count) bytes")
            }
        }
    }

    @Test func `A GOAWAY ends a silent connection`() throws {
        let frame = WireFrame.goAway(0, .noError, "bye")
        try atEachCut(of: frame) { count in
            let peer = try EmbeddedPeer.connected()
            try sendCut(frame, after: count, to: peer)
            #expect(peer.recorder.over == ["drained"], "cut after \(count) bytes")
        }
    }

    @Test func `An answer ends a drained client`() throws {
        for frame in [WireFrame.headers(1, [0x88], endStream: true), .reset(1)] {
            try atEachCut(of: frame) { count in
                let peer = try EmbeddedPeer.connectedClient()
                _ = try peer.session.request(.post("/"))
                peer.session.drain()
                _ = try peer.received()
                try sendCut(frame, after: count, to: peer)
                #expect(peer.recorder.over == ["drained"], "cut after \(count) bytes")
            }
        }
    }
}
