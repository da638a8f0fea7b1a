import Testing

@testable import HTTP2Core

/// Stream states and numbers (RFC 9113, 5.1), and the frames that change them (6.1 to 6.4).
struct StreamTests {
    private let server = Side.server()

    private func open(_ stream: UInt32 = 1) {
        _ = server.receive(Wire.headers(stream, Wire.post, endStream: false))
        _ = server.output()
    }

    @Test func `RFC 9113, 5.1: a stream is closed when both sides have ended it`() {
        open()
        #expect(server.receive(Wire.data(1, "a", endStream: true)) == ["data 1 end a"])
        server.respond(1, [(":status", "200")])
        #expect(server.queued() == ["closed 1 NO_ERROR"])
        #expect(server.openStreams == 0)
    }

    @Test func `RFC 9113, 5.1: half-closed (remote): DATA is the stream error STREAM_CLOSED`() {
        _ = server.receive(Wire.headers(1, Wire.get))
        #expect(server.receive(Wire.data(1, "a")) == ["closed 1 STREAM_CLOSED (RFC 9113, 5.1)"])
        #expect(server.output() == ["RST_STREAM 1 5"])
    }

    @Test func `RFC 9113, 5.1: half-closed (remote): HEADERS is the stream error STREAM_CLOSED`() {
        _ = server.receive(Wire.headers(1, Wire.get))
        #expect(server.receive(Wire.headers(1, [("a", "b")])) == ["closed 1 STREAM_CLOSED (RFC 9113, 5.1)"])
        #expect(server.output() == ["RST_STREAM 1 5"])
    }

    @Test func `RFC 9113, 5.1: half-closed (remote): WINDOW_UPDATE, PRIORITY and RST_STREAM are allowed`() {
        _ = server.receive(Wire.headers(1, Wire.get))
        let frames = Wire.windowUpdate(1, 1) + Wire.frame(2, 0, 1, [0, 0, 0, 0, 0]) + Wire.reset(1)
        #expect(server.receive(frames) == ["window 1", "priority 1", "closed 1 CANCEL"])
    }

    @Test func `RFC 9113, 5.1: closed: frames that were under way are discarded`() {
        open()
        server.endpoint.reset(StreamID(1), .cancel)
        #expect(server.queued() == ["closed 1 CANCEL"])
        #expect(server.output() == ["RST_STREAM 1 8"])
        let frames = Wire.data(1, "abc") + Wire.headers(1, [("a", "b")]) + Wire.windowUpdate(1, 1) + Wire.reset(1)
        #expect(server.receive(frames) == [])
        #expect(server.output() == [])
    }

    @Test func `RFC 9113, 5.1: closed: a field block changes the compression state`() {
        open()
        server.endpoint.reset(StreamID(1), .cancel)
        // The field enters the table with the discarded block, and the next request refers to it.
        _ = server.receive(Wire.frame(1, 5, 1, [0x40] + Wire.text("a") + Wire.text("b")))
        let events = server.receive(Wire.frame(1, 5, 3, Wire.block(Wire.get) + [0xbe]))
        #expect(events.last?.hasSuffix("a=b") == true)
    }

    @Test func `RFC 9113, 5.1: nothing is sent on a closed stream`() {
        _ = server.receive(Wire.headers(1, Wire.get) + Wire.reset(1))
        #expect(server.respond(1, [(":status", "200")]) == "closed")
        #expect(server.send(1, on: 1) == nil)
        server.endpoint.reset(StreamID(1), .cancel)
        #expect(server.output() == [])
    }

    @Test func `RFC 9113, 5.1: half-closed (local): no DATA and HEADERS are sent`() {
        open()
        server.respond(1, [(":status", "200")])
        _ = server.output()
        #expect(server.respond(1, [("a", "b")]) == "closed")
        #expect(server.send(1, on: 1) == nil)
        #expect(server.output() == [])
    }

    @Test func `RFC 9113, 5.1: half-closed (local): the peer's frames are received`() {
        open()
        server.respond(1, [(":status", "200")])
        #expect(
            server.receive(Wire.data(1, "a") + Wire.headers(1, [("a", "b")])) == [
                "data 1 a", "trailers 1 a=b", "closed 1 NO_ERROR",
            ])
    }

    @Test func `RFC 9113, 5.1.1: skipped streams are closed, and DATA on them is the stream error STREAM_CLOSED`() {
        open(5)
        #expect(server.receive(Wire.data(3, "a")) == [])
        #expect(server.output() == ["RST_STREAM 3 5"])
        #expect(server.receive(Wire.headers(7, Wire.get)).count == 1)
    }

    @Test func `RFC 9113, 6.1: DATA on a stream that both have ended is the stream error STREAM_CLOSED`() {
        _ = server.receive(Wire.headers(1, Wire.get))
        server.respond(1, [(":status", "200")])
        _ = (server.queued(), server.output())
        #expect(server.receive(Wire.data(1, "a") + Wire.data(1, "b")) == [])
        // What was under way when we sent the first RST_STREAM is discarded.
        #expect(server.output() == ["RST_STREAM 1 5"])
    }

    @Test func `RFC 9113, 5.1: DATA on a stream that the peer has reset is the stream error STREAM_CLOSED`() throws {
        open()
        _ = server.receive(Wire.reset(1) + Wire.data(1, "a"))
        #expect(server.output() == ["RST_STREAM 1 5"])
        let client = Side.client()
        _ = try client.open()
        _ = client.output()
        _ = client.receive(Wire.headers(1, [(":status", "200")]) + Wire.data(1, "a"))
        #expect(client.output() == ["RST_STREAM 1 5"])
    }

    @Test func `What may have been under way is discarded also if more streams were reset than are remembered`() {
        for number in 0..<UInt32(ClosedStreams.maxResets + 10) {
            open(2 * number + 1)
            server.endpoint.reset(StreamID(2 * number + 1), .cancel)
        }
        _ = (server.queued(), server.output())
        for stream: UInt32 in [1, 19, 21, 521] {
            #expect(server.receive(Wire.data(stream, "a") + Wire.headers(stream, [("a", "b")])) == [])
        }
        #expect(server.output() == [])
        _ = server.receive(Wire.headers(1001, Wire.get) + Wire.reset(1001) + Wire.data(1001, "a"))
        #expect(server.output() == ["RST_STREAM 1001 5"])
    }

    @Test func `Blanks in a path are passed on if the application answers them`() {
        var limits = EndpointLimits()
        let path = "/3/device/{length = 32, bytes = 0xc63963fd }\t "
        let request = Wire.headers(1, [(":method", "POST"), (":scheme", "https"), (":path", path)])
        #expect(Side.server(limits).receive(request) == ["refused 1 PROTOCOL_ERROR (RFC 9113, 8.2.1)"])
        limits.allowsBlanksAroundValues = true
        #expect(Side.server(limits).receive(request).first?.hasSuffix(":path=\(path)") == true)
        let client = Side(.client, limits)
        let sent = [(":method", "GET"), (":scheme", "https"), (":path", "/a b")]
        #expect(throws: HTTP2Endpoint.OpenFailure.self) { try client.open(sent) }
    }

    @Test func `RFC 9113, 5.1.1: a client opens odd streams in rising order`() throws {
        let client = Side.client()
        #expect(try [client.open(), client.open(), client.open()] == [1, 3, 5])
    }

    @Test func `RFC 9113, 5.1.1: a client whose numbers are used up opens no stream`() throws {
        let client = Side.client()
        client.skipNumbers(to: 0x7fff_ffff)
        #expect(try client.open() == 0x7fff_ffff)
        #expect(throws: HTTP2Endpoint.OpenFailure.self) { try client.open() }
    }

    @Test func `RFC 9113, 5.1.2: a stream too many is refused with REFUSED_STREAM`() {
        var limits = EndpointLimits()
        limits.announcedConcurrentStreams = 1
        let server = Side.server(limits)
        _ = server.receive(Wire.headers(1, Wire.get))
        #expect(server.receive(Wire.headers(3, Wire.get)) == ["refused 3 REFUSED_STREAM (RFC 9113, 5.1.2)"])
        #expect(server.output() == ["RST_STREAM 3 7"])
    }

    @Test func `RFC 9113, 5.1.2: a client opens no more streams than the server allows`() throws {
        let client = Side.client()
        _ = client.receive(Wire.settings([(3, 1)]))
        _ = try client.open()
        #expect(client.availableStreams == 0)
        #expect(throws: HTTP2Endpoint.OpenFailure.self) { try client.open() }
    }

    @Test(arguments: [3, 100])
    func `Before SETTINGS came, a client opens no more streams than its own limit`(_ limit: Int) throws {
        var limits = EndpointLimits()
        limits.concurrentStreamsBeforeSettings = limit
        let client = Side(.client, limits)
        for _ in 0..<limit { _ = try client.open() }
        #expect(client.availableStreams == 0)
        #expect(throws: HTTP2Endpoint.OpenFailure.self) { try client.open() }
        _ = client.receive(Wire.settings())
        #expect(client.availableStreams == 1_000 - limit)
        #expect(try client.open() == UInt32(limit) * 2 + 1)
    }

    @Test func `RFC 9113, 5.4.2: RST_STREAM does not answer RST_STREAM`() {
        open()
        #expect(server.receive(Wire.reset(1) + Wire.reset(1)) == ["closed 1 CANCEL"])
        #expect(server.output() == [])
    }

    @Test func `RFC 9113, 6.3: PRIORITY of an open stream that does not have 5 bytes is a stream error`() {
        open()
        let events = server.receive(Wire.frame(2, 0, 1, [0]))
        #expect(events == ["closed 1 FRAME_SIZE_ERROR (RFC 9113, 6.3)"])
        #expect(server.output() == ["RST_STREAM 1 6"])
    }

    @Test func `RFC 9113, 6.3: PRIORITY has no effect on a stream in any state`() {
        let priority: (UInt32) -> [UInt8] = { Wire.frame(2, 0, $0, [0, 0, 0, 1, 7]) }
        _ = server.receive(Wire.headers(1, Wire.get) + Wire.reset(1))
        #expect(server.receive(priority(1) + priority(9)) == ["priority 1", "priority 9"])
        #expect(server.receive(Wire.headers(3, Wire.get)).first?.hasPrefix("request 3") == true)
    }

    @Test func `RFC 9113, 6.2: the priority and the padding of HEADERS are skipped`() {
        let payload = [2, 0, 0, 0, 0, 9] + Wire.block(Wire.get) + [0, 0]
        let events = server.receive(Wire.frame(1, 0x2d, 1, payload))
        #expect(events.first?.hasPrefix("request 1 end :method=GET") == true)
    }

    @Test func `RFC 9113, 6.2: padding that leaves no room for the priority is a PROTOCOL_ERROR`() {
        let frame = Wire.frame(1, 0x2c, 1, [5, 0, 0, 0, 0, 0])
        #expect(server.receive(frame).last?.hasPrefix("failed PROTOCOL_ERROR") == true)
    }

    @Test func `RFC 9113, 6.2: a field block with only padding before it is empty`() {
        open()
        #expect(server.receive(Wire.frame(1, 0xd, 1, [0])) == ["trailers 1 "])
    }

    @Test func `RFC 9113, 6.10: CONTINUATION continues a field block, and HEADERS had END_STREAM`() {
        let block = Wire.block(Wire.get)
        let frames =
            Wire.frame(1, 1, 1, Array(block.prefix(5))) + Wire.frame(9, 0, 1, Array(block[5..<9]))
            + Wire.frame(9, 4, 1, Array(block.dropFirst(9)))
        #expect(server.receive(frames) == ["request 1 end :method=GET :scheme=https :path=/ :authority=a"])
    }

    @Test func `An endpoint knows since when a field block is incomplete`() {
        let frame = Wire.headers(1, Wire.get, endHeaders: false)
        _ = server.receive(Array(frame.prefix(9)))
        let began = server.now
        #expect(server.endpoint.fieldsBegan == began)
        server.now += 1
        _ = server.receive(Array(frame.dropFirst(9)))
        #expect(server.endpoint.fieldsBegan == began)
        _ = server.receive(Wire.frame(9, 4, 1))
        #expect(server.endpoint.fieldsBegan == nil)
    }

    @Test func `RFC 9113, 6.2 and 6.10: a large field block is sent in frames that follow each other`() {
        _ = server.receive(Wire.headers(1, Wire.get))
        let value = String(repeating: "~", count: 40_000)
        server.respond(1, [(":status", "200"), ("a", value)])
        #expect(server.output() == ["HEADERS 1 end", "CONTINUATION 1", "CONTINUATION 1"])
    }

    @Test(arguments: [Wire.ping(), Wire.frame(0xfe), Wire.headers(3, Wire.get), Wire.frame(9, 4, 3)])
    func `RFC 9113, 6.10: another frame after an open CONTINUATION is a connection error`(_ frame: [UInt8]) {
        let open = Wire.headers(1, Wire.get, endHeaders: false) + Wire.frame(9, 0, 1)
        #expect(server.receive(open + frame) == ["failed PROTOCOL_ERROR (RFC 9113, 6.2)"])
    }

    @Test func `RFC 9113, 4.2: a frame of 16,384 bytes is read`() {
        open()
        let content = [UInt8](repeating: 0x61, count: 16_384)
        #expect(server.receive(Wire.frame(0, 1, 1, content)).first?.utf8.count == "data 1 end ".utf8.count + 16_384)
        // The rest of the field block is padding, which is at most 255 bytes, and fields beyond the limit.
        let field = [0x00] + Wire.text("a") + [0x7f, 0xb4, 0x7e] + [UInt8](repeating: 0x62, count: 16_307)
        let block = Wire.block(Wire.get) + field
        let padding = [UInt8](repeating: 0, count: max(0, 16_384 - 1 - block.count))
        let payload = [UInt8(padding.count)] + block + padding
        #expect(payload.count == 16_384)
        #expect(server.receive(Wire.frame(1, 0xd, 3, payload)) == ["too large 3 end"])
    }

    @Test func `RFC 9113, 4.1: unused flags and the reserved bit are ignored`() {
        let events = server.receive(Wire.frame(1, 0xd7, 0x8000_0001, Wire.block(Wire.get)))
        #expect(events.first?.hasPrefix("request 1 end") == true)
    }

    @Test func `RFC 9113, 4.1 and 5.5: frames of unknown types are discarded`() {
        let events = server.receive(Wire.frame(0xfe, 0xff, 77, [1, 2, 3]) + Wire.headers(1, Wire.get))
        #expect(events.count == 1)
    }
}
