import HTTP2
import NIOCore
import NIOEmbedded
import Testing

/// The two literal forms that stay out of a table (RFC 7541, 6.2.2 and 6.2.3), as a client writes them.
@Suite struct HeaderLiteralsTests {
    /// A request with fields of every form: in the table, added to it, and not added with a known and an unknown name;
    /// with lengths of one and of several bytes.
    private func block(_ literals: FieldForm) -> FieldList {
        var block = FieldList()
        block.append(":method", "POST")
        block.append(":scheme", "https")
        block.append(":path", "/3/device/00", literals)
        block.append(":authority", "localhost")
        block.append("authorization", String(repeating: "x", count: 400), literals)
        block.append("apns-topic", "com.example.app")
        block.append("apns-id", String(repeating: "~", count: 20), literals)
        block.append(name: String(repeating: "n", count: 200), value: "", literals)
        return block
    }

    /// What a server reads in a client's bytes.
    private func fields(_ bytes: [UInt8]) throws -> [Recorder.Event] {
        let server = try EmbeddedPeer.connected()
        try server.send(bytes)
        return server.recorder.events.filter { if case .header = $0 { true } else { false } }
    }

    @Test func `A providers literals are without indexing`() throws {
        let (one, other) = (try EmbeddedPeer.connectedClient(), try EmbeddedPeer.connectedClient())
        for _ in 0..<2 {
            _ = try one.session.request(block(.withoutIndexing), body: nil)
            _ = try other.session.request(block(.neverIndexed), body: nil)
            let sent = try #require(try one.received(WireFrame.headers).first)
            let usual = try #require(try other.received(WireFrame.headers).first)
            // The bytes are the same except for one bit in each of the four fields.
            #expect(sent.payload.count == usual.payload.count)
            let changed = zip(sent.payload, usual.payload).filter { $0 != $1 }
            #expect(changed.count == 4)
            #expect(changed.allSatisfy { $1 == $0 | 0x10 && $0 & 0xf0 == 0 })
        }
    }

    @Test func `A server reads the same`() throws {
        var read: [[Recorder.Event]] = []
        for literals in [FieldForm.neverIndexed, .withoutIndexing] {
            let peer = try EmbeddedPeer.connectedClient()
            _ = try peer.session.request(block(literals), body: nil)
            read.append(try fields(try peer.received(WireFrame.headers).flatMap(\.bytes)))
        }
        #expect(read[0].count == 8 && read[0] == read[1])
    }

    @Test func `A block of several frames is left as it is`() throws {
        let peer = try EmbeddedPeer.connectedClient()
        var block = block(.withoutIndexing)
        block.append("apns-collapse-id", String(repeating: "~", count: 30_000), .withoutIndexing)
        _ = try peer.session.request(block, body: nil)
        let frames = try peer.received()
        #expect(frames.map(\.type) == [WireFrame.headers, WireFrame.continuation])
    }
}
