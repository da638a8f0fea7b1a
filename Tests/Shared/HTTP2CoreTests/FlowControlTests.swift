import HTTP2Core
import Testing

/// Flow control in both directions (RFC 9113, 5.2 and 6.9).
struct FlowControlTests {
    private let server = Side.server()

    private func open(_ stream: UInt32 = 1, on server: Side? = nil) {
        let server = server ?? self.server
        _ = server.receive(Wire.headers(stream, Wire.post, endStream: false))
        server.respond(stream, [(":status", "200")], endStream: false)
        _ = server.output()
    }

    private func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

    // MARK: Sending

    @Test func `RFC 9113, 6.9.1: no more is sent than the stream's window`() {
        _ = server.receive(Wire.settings([(4, 10)]))
        open()
        #expect(server.send(12, on: 1, endStream: true) == 10)
        #expect(server.output() == ["DATA 1 10"])
        #expect(server.receive(Wire.windowUpdate(1, 5)) == ["window 1"])
        #expect(server.send(2, on: 1, endStream: true) == 2)
        #expect(server.output() == ["DATA 1 2 end"])
    }

    @Test func `RFC 9113, 6.9.1: no more is sent than the connection's window`() {
        _ = server.receive(Wire.settings([(4, 0x7fff_ffff)]))
        open()
        var sent = 0
        for _ in 0..<5 {
            sent += server.send(30_000, on: 1) ?? 0
            _ = server.output()
        }
        #expect(sent == 65_535)
        _ = server.receive(Wire.windowUpdate(0, 7))
        #expect(server.send(30_000, on: 1) == 7)
    }

    @Test func `RFC 9113, 6.9.1: an empty frame that ends the stream needs no window`() {
        _ = server.receive(Wire.settings([(4, 0)]))
        open()
        #expect(server.send(1, on: 1) == 0)
        #expect(server.send(0, on: 1, endStream: true) == 0)
        #expect(server.output() == ["DATA 1 0 end"])
    }

    @Test func `RFC 9113, 4.2: no frame is larger than the peer's SETTINGS_MAX_FRAME_SIZE`() {
        open()
        #expect(server.send(20_000, on: 1) == 20_000)
        #expect(server.output() == ["DATA 1 16384", "DATA 1 3616"])
        _ = server.receive(Wire.settings([(5, 20_000)]))
        #expect(server.send(20_000, on: 1) == 20_000)
        #expect(server.output() == ["SETTINGS ack", "DATA 1 20000"])
    }

    @Test func `RFC 9113, 6.9.2: a setting changes the windows of open streams, which may become negative`() {
        open()
        #expect(server.send(100, on: 1) == 100)
        _ = server.receive(Wire.settings([(4, 40)]))
        // 65,535 - 100 became 40 - 100.
        #expect(server.send(1, on: 1) == 0)
        _ = server.receive(Wire.windowUpdate(1, 60))
        #expect(server.send(1, on: 1) == 0)
        _ = server.receive(Wire.windowUpdate(1, 1))
        #expect(server.send(2, on: 1) == 1)
    }

    @Test func `RFC 9113, 6.9.2: a setting does not change the connection's window`() {
        _ = server.receive(Wire.settings([(4, 1)]))
        open()
        open(3)
        #expect(server.send(10, on: 1) == 1)
        _ = server.receive(Wire.windowUpdate(3, 0x1_0000))
        var sent = 0
        for _ in 0..<5 {
            sent += server.send(20_000, on: 3) ?? 0
            _ = server.output()
        }
        #expect(sent == 65_534)
    }

    @Test func `RFC 9113, 6.9: an increment of 0 is a stream error`() {
        open()
        #expect(server.receive(Wire.windowUpdate(1, 0)) == ["closed 1 PROTOCOL_ERROR (RFC 9113, 6.9)"])
        #expect(server.output() == ["RST_STREAM 1 1"])
    }

    @Test func `RFC 9113, 6.9.1: a stream's window above 2^31-1 is a stream error`() {
        open()
        let events = server.receive(Wire.windowUpdate(1, 0x7fff_ffff))
        #expect(events == ["closed 1 FLOW_CONTROL_ERROR (RFC 9113, 6.9.1)"])
        #expect(server.output() == ["RST_STREAM 1 3"])
    }

    @Test func `RFC 9113, 6.9: WINDOW_UPDATE of a closed stream is not an error`() {
        open()
        _ = server.receive(Wire.reset(1))
        #expect(server.receive(Wire.windowUpdate(1, 1) + Wire.windowUpdate(1, 0)) == [])
    }

    @Test func `Output is limited while the peer does not read`() {
        _ = server.receive(Wire.settings([(4, 0x7fff_ffff)]) + Wire.windowUpdate(0, 0x7f00_0000))
        open()
        #expect((server.send(1_000_000, on: 1) ?? 0) < HTTP2Endpoint.maxOutputBytes + 16_384)
        #expect(server.send(1, on: 1) == 0)
        _ = server.output()
        #expect(server.send(1, on: 1) == 1)
    }

    // MARK: Receiving

    @Test func `RFC 9113, 6.9: the windows are opened again when half of them is used`() {
        open()
        for _ in 0..<2 { _ = server.receive(Wire.frame(0, 0, 1, zeros(16_000))) }
        #expect(server.output() == [])
        _ = server.receive(Wire.frame(0, 0, 1, zeros(1_000)))
        #expect(server.output() == ["WINDOW_UPDATE 1 33000"])
        for _ in 0..<31 { _ = server.receive(Wire.frame(0, 0, 1, zeros(16_000))) }
        #expect(server.output().contains("WINDOW_UPDATE 0 529000"))
    }

    @Test func `RFC 9113, 6.9.1: DATA beyond the stream's window is a stream error`() {
        open()
        server.endpoint.pauseReading(StreamID(1))
        for _ in 0..<4 { _ = server.receive(Wire.frame(0, 0, 1, zeros(16_000))) }
        let events = server.receive(Wire.frame(0, 0, 1, zeros(1_536)))
        #expect(events == ["closed 1 FLOW_CONTROL_ERROR (RFC 9113, 6.9.1)"])
        #expect(server.output() == ["RST_STREAM 1 3"])
    }

    @Test func `RFC 9113, 6.9.1: DATA beyond the connection's window is a connection error`() {
        var limits = EndpointLimits()
        limits.connectionWindowBytes = 65_535
        // The peer uses more than half of the window at once, while nothing of it is opened.
        limits.maxFrameBytes = 100_000
        let server = Side.server(limits)
        open(on: server)
        let events = server.receive(Wire.frame(0, 0, 1, zeros(65_536)))
        #expect(events == ["failed FLOW_CONTROL_ERROR (RFC 9113, 6.9.1)"])
    }

    @Test func `RFC 9113, 6.1: padding counts for flow control`() {
        open()
        // 256 bytes of padding with each byte of content.
        for _ in 0..<128 { _ = server.receive(Wire.frame(0, 8, 1, [255, 0x61] + zeros(255))) }
        #expect(server.output() == ["WINDOW_UPDATE 1 32896"])
    }

    @Test func `RFC 9113, 6.9: DATA of a closed stream counts for the connection's window`() {
        open()
        server.endpoint.reset(StreamID(1), .cancel)
        _ = server.output()
        for _ in 0..<33 { _ = server.receive(Wire.frame(0, 0, 1, zeros(16_000))) }
        #expect(server.output() == ["WINDOW_UPDATE 0 528000"])
    }

    @Test func `A paused stream's window opens when reading is resumed`() {
        open()
        server.endpoint.pauseReading(StreamID(1))
        for _ in 0..<3 { _ = server.receive(Wire.frame(0, 0, 1, zeros(16_000))) }
        #expect(server.output() == [])
        server.endpoint.resumeReading(StreamID(1))
        #expect(server.output() == ["WINDOW_UPDATE 1 48000"])
    }

    @Test func `Content that is not wanted opens no window of its stream, and counts as idle frames`() {
        open()
        server.endpoint.ignoreContent(StreamID(1))
        for _ in 0..<3 { _ = server.receive(Wire.frame(0, 0, 1, zeros(16_000))) }
        server.endpoint.pauseReading(StreamID(1))
        server.endpoint.resumeReading(StreamID(1))
        #expect(server.output() == [])
        let events = (0..<2_100).flatMap { _ in server.receive(Wire.data(1, "a")) }
        #expect(events.last == "failed flood idle frames")
    }

    @Test func `RFC 9113, 6.9.3: until a smaller window is acknowledged, the larger one applies`() {
        var limits = EndpointLimits()
        limits.streamWindowBytes = 100
        let server = Side(.server, limits)
        _ = server.receive(Wire.preface + Wire.settings() + Wire.headers(1, Wire.post, endStream: false))
        server.endpoint.pauseReading(StreamID(1))
        #expect(server.receive(Wire.frame(0, 0, 1, zeros(200))).first?.hasPrefix("data 1") == true)
        #expect(server.receive(Wire.settingsAck) == ["settings acknowledged"])
        // The window is 100 - 200 now.
        #expect(server.receive(Wire.data(1, "a")) == ["closed 1 FLOW_CONTROL_ERROR (RFC 9113, 6.9.1)"])
    }
}
