import HTTP2Core
import Testing

/// What an endpoint must not send, whatever its user asks for.
struct SendingTests {
    /// The flags that each type of frame defines (RFC 9113, 6), by its number. We do not use PADDED and PRIORITY.
    private static let flags: [UInt8] = [0x1, 0x5, 0, 0, 0x1, 0, 0x1, 0, 0, 0x4]

    private func check(_ output: [UInt8], _ types: Set<UInt8>) {
        var rest = output[...]
        if rest.starts(with: Wire.preface) { rest = rest.dropFirst(Wire.preface.count) }
        var seen: Set<UInt8> = []
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            seen.insert(head[3])
            let type = Int(head[3])
            let defined = type < Self.flags.count ? Self.flags[type] : 0
            #expect(head[4] & ~defined == 0, "\(head)")
            #expect(head[5] & 0x80 == 0, "\(head)")
            rest = rest.dropFirst(9 + (Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])))
        }
        #expect(rest.isEmpty)
        #expect(seen == types)
    }

    @Test func `RFC 9113, 4.1: unused flags and the reserved bit are not set in any frame that is sent`() throws {
        let server = Side(.server)
        // Flags and the reserved bit of the peer do not come back either.
        let request = Wire.frame(1, 0xd6, 0x8000_0001, Wire.block(Wire.post))
        _ = server.receive(
            Wire.preface + Wire.frame(4, 0xfe) + Wire.frame(6, 0xfe, 0x8000_0000, [1, 2, 3, 4, 5, 6, 7, 8]))
        _ = server.receive(request + Wire.headers(3, Wire.get) + Wire.windowUpdate(3, 0))
        server.respond(1, [(":status", "200"), ("a", String(repeating: "~", count: 20_000))], endStream: false)
        server.send(10, on: 1)
        server.respond(1, [("b", "c")])
        server.endpoint.ping(UInt64.max)
        server.endpoint.goAway(lastStream: .last, .noError)
        check(server.takeOutput(), [0, 1, 3, 4, 6, 7, 8, 9])

        let client = Side(.client)
        _ = client.receive(Wire.frame(4, 0xfe))
        let stream = try client.open(Wire.post, endStream: false)
        client.send(10, on: stream, endStream: true)
        client.endpoint.reset(StreamID(stream), .cancel)
        check(client.takeOutput(), [0, 1, 3, 4, 8])
    }

    @Test(arguments: [Role.client, .server])
    func `RFC 9113, 6.4: RST_STREAM is not sent for an idle stream`(_ role: Role) {
        let side = role == .server ? Side.server() : Side.client()
        side.endpoint.reset(StreamID(1), .cancel)
        side.endpoint.reset(StreamID(2), .cancel)
        #expect(side.output() == [])
    }

    @Test func `RFC 9113, 6.9.2: before SETTINGS came, a client sends no more than the initial window`() throws {
        let client = Side(.client)
        let stream = try client.open(Wire.post, endStream: false)
        var sent = 0
        for _ in 0..<5 {
            sent += client.send(30_000, on: stream) ?? 0
            _ = client.output()
        }
        #expect(sent == 65_535)
    }

    @Test func `RFC 9113, 8.1: a server sends one final response, and content only after it`() {
        let server = Side.server()
        _ = server.receive(Wire.headers(1, Wire.get))
        #expect(server.send(1, on: 1) == nil)
        #expect(server.respond(1, [("a", "b")]) == "malformed (RFC 9113, 8.3.2)")
        #expect(server.respond(1, [(":status", "103")], endStream: false) == "sent")
        #expect(server.send(1, on: 1) == nil)
        #expect(server.respond(1, [(":status", "200")], endStream: false) == "sent")
        #expect(server.respond(1, [(":status", "200")]) == "malformed (RFC 9113, 8.1)")
        #expect(server.send(1, on: 1) == 1)
        #expect(server.respond(1, [("a", "b")]) == "sent")
        #expect(server.output() == ["HEADERS 1", "HEADERS 1", "DATA 1 1", "HEADERS 1 end"])
    }

    @Test func `RFC 9113, 8.5: no HEADERS are sent on a tunnel`() throws {
        let connect = [(":method", "CONNECT"), (":authority", "a:443")]
        let server = Side.server()
        _ = server.receive(Wire.headers(1, connect, endStream: false) + Wire.headers(3, connect, endStream: false))
        server.respond(1, [(":status", "200")], endStream: false)
        #expect(server.respond(1, [("a", "b")]) == "malformed (RFC 9113, 8.5)")
        #expect(server.send(1, on: 1, endStream: true) == 1)
        // A refused CONNECT is no tunnel.
        server.respond(3, [(":status", "403")], endStream: false)
        #expect(server.respond(3, [("a", "b")]) == "sent")

        let client = Side.client()
        let stream = try client.open(connect, endStream: false)
        #expect(client.respond(stream, [("a", "b")]) == "malformed (RFC 9113, 8.5)")
    }
}
