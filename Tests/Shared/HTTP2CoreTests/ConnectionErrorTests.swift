import HTTP2Core
import Testing

/// A rule of RFC 9113 of which the violation ends the connection (5.4.1).
struct ConnectionRule: Sendable, CustomTestStringConvertible {
    let section: String
    let text: String
    /// What the peer sends. A server has got the preface before it, and a client has opened stream 1.
    let bytes: [UInt8]
    let code: String

    init(_ section: String, _ text: String, _ code: String, _ bytes: [UInt8]) {
        (self.section, self.text, self.code, self.bytes) = (section, text, code, bytes)
    }

    init(_ section: String, _ text: String, _ bytes: [UInt8]) {
        self.init(section, text, "PROTOCOL_ERROR", bytes)
    }

    var testDescription: String { "RFC 9113, \(section): \(text)" }

    private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
    private static let open = Wire.headers(1, Wire.post, endStream: false)

    static let ofServer: [ConnectionRule] = [
        ConnectionRule(
            "4.2", "HEADERS exceeds SETTINGS_MAX_FRAME_SIZE", "FRAME_SIZE_ERROR", Wire.frame(1, 5, 1, length: 16_385)),
        ConnectionRule(
            "4.2", "DATA exceeds SETTINGS_MAX_FRAME_SIZE", "FRAME_SIZE_ERROR",
            open + Wire.frame(0, 0, 1, length: 16_385)),
        ConnectionRule(
            "4.2", "an unknown frame exceeds SETTINGS_MAX_FRAME_SIZE", "FRAME_SIZE_ERROR",
            Wire.frame(0xfe, 0, 1, length: 16_385)),
        ConnectionRule("4.2", "GOAWAY is too short", "FRAME_SIZE_ERROR", Wire.frame(7, 0, 0, zeros(7))),
        ConnectionRule(
            "4.2", "HEADERS is too short for its priority", "FRAME_SIZE_ERROR", Wire.frame(1, 0x25, 1, zeros(4))),
        ConnectionRule("4.3", "a field block ends within a field", "COMPRESSION_ERROR", Wire.frame(1, 5, 1, [0x40])),
        ConnectionRule(
            "4.3", "a field block ends within a text", "COMPRESSION_ERROR", Wire.frame(1, 5, 1, [0x00, 0x05, 0x61])),
        ConnectionRule("5.1", "DATA on an idle stream", Wire.data(1, "a")),
        ConnectionRule("5.1", "DATA on an idle stream of a server", Wire.data(2, "a")),
        ConnectionRule("5.1", "WINDOW_UPDATE for an idle stream", Wire.windowUpdate(3, 1)),
        ConnectionRule("5.1.1", "a client opens a stream with an even number", Wire.headers(2, Wire.get)),
        ConnectionRule(
            "5.1.1", "a client opens a stream that it skipped", Wire.headers(5, Wire.get) + Wire.headers(3, Wire.get)),
        ConnectionRule(
            "5.1", "HEADERS on a closed stream", "STREAM_CLOSED",
            Wire.headers(1, Wire.post) + Wire.reset(1) + Wire.headers(1, Wire.get)),
        ConnectionRule(
            "6.2", "an unknown frame within a field block (5.5)",
            Wire.headers(1, Wire.get, endHeaders: false) + Wire.frame(0xfe, 0, 1)),
        ConnectionRule("6.2", "PING within a field block", Wire.headers(1, Wire.get, endHeaders: false) + Wire.ping()),
        ConnectionRule(
            "6.2", "PRIORITY within a field block (6.3)",
            Wire.headers(1, Wire.get, endHeaders: false) + Wire.frame(2, 0, 1, zeros(5))),
        ConnectionRule(
            "6.2", "HEADERS of another stream within a field block (8.1)",
            Wire.headers(1, Wire.get, endHeaders: false) + Wire.headers(3, Wire.get)),
        ConnectionRule(
            "6.2", "CONTINUATION of another stream (6.10)",
            Wire.headers(1, Wire.get, endHeaders: false) + Wire.frame(9, 4, 3)),
        ConnectionRule("6.1", "DATA has the stream 0", Wire.data(0, "a")),
        ConnectionRule("6.1", "the padding of DATA is as long as its payload", open + Wire.frame(0, 8, 1, [3, 0, 0])),
        ConnectionRule("6.1", "DATA with padding is empty", open + Wire.frame(0, 8, 1)),
        ConnectionRule("6.2", "HEADERS has the stream 0", Wire.headers(0, Wire.get)),
        ConnectionRule("6.2", "the padding of HEADERS is as long as its payload", Wire.frame(1, 0xd, 1, [2, 0])),
        ConnectionRule("6.3", "PRIORITY has the stream 0", Wire.frame(2, 0, 0, zeros(5))),
        ConnectionRule(
            "6.3", "PRIORITY of an idle stream does not have 5 bytes", "FRAME_SIZE_ERROR", Wire.frame(2, 0, 1, zeros(4))
        ),
        ConnectionRule("6.4", "RST_STREAM has the stream 0", Wire.reset(0)),
        ConnectionRule("6.4", "RST_STREAM for an idle stream", Wire.reset(1)),
        ConnectionRule(
            "6.4", "RST_STREAM does not have 4 bytes", "FRAME_SIZE_ERROR", open + Wire.frame(3, 0, 1, zeros(5))),
        ConnectionRule("6.5", "SETTINGS has another stream than 0", Wire.frame(4, 0, 1)),
        ConnectionRule(
            "6.5", "SETTINGS does not have a multiple of 6 bytes", "FRAME_SIZE_ERROR", Wire.frame(4, 0, 0, zeros(7))),
        ConnectionRule(
            "6.5", "an acknowledgement of SETTINGS has a payload", "FRAME_SIZE_ERROR",
            Wire.frame(4, 1, 0, Wire.setting(1, 1))),
        ConnectionRule("6.5.2", "SETTINGS_ENABLE_PUSH is 2", Wire.settings([(2, 2)])),
        ConnectionRule(
            "6.5.2", "SETTINGS_INITIAL_WINDOW_SIZE is 2^31", "FLOW_CONTROL_ERROR", Wire.settings([(4, 0x8000_0000)])),
        ConnectionRule("6.5.2", "SETTINGS_MAX_FRAME_SIZE is 16,383", Wire.settings([(5, 16_383)])),
        ConnectionRule("6.5.2", "SETTINGS_MAX_FRAME_SIZE is 2^24", Wire.settings([(5, 0x100_0000)])),
        ConnectionRule("6.5.3", "SETTINGS are acknowledged that were not sent", Wire.settingsAck),
        ConnectionRule("6.7", "PING has another stream than 0", Wire.frame(6, 0, 1, zeros(8))),
        ConnectionRule("6.7", "PING does not have 8 bytes", "FRAME_SIZE_ERROR", Wire.frame(6, 0, 0, zeros(9))),
        ConnectionRule("6.8", "GOAWAY has another stream than 0", Wire.frame(7, 0, 1, zeros(8))),
        ConnectionRule("6.8", "the last stream of GOAWAY increases", Wire.goAway(0) + Wire.goAway(2)),
        ConnectionRule("6.9", "the increment of the connection's window is 0", Wire.windowUpdate(0, 0)),
        ConnectionRule("6.9", "WINDOW_UPDATE does not have 4 bytes", "FRAME_SIZE_ERROR", Wire.frame(8, 0, 0, zeros(3))),
        ConnectionRule(
            "6.9.1", "the connection's window exceeds 2^31-1", "FLOW_CONTROL_ERROR", Wire.windowUpdate(0, 0x7fff_ffff)),
        ConnectionRule(
            "6.9.2", "a setting makes a stream's window exceed 2^31-1", "FLOW_CONTROL_ERROR",
            open + Wire.windowUpdate(1, 0x7fff_0000) + Wire.settings([(4, 70_000)])),
        ConnectionRule("6.10", "CONTINUATION has the stream 0", Wire.frame(9, 4, 0)),
        ConnectionRule("6.10", "CONTINUATION follows a complete block", open + Wire.frame(9, 4, 1)),
        ConnectionRule("6.10", "CONTINUATION follows DATA", open + Wire.data(1, "a") + Wire.frame(9, 4, 1)),
        ConnectionRule("8.4", "a client pushes", Wire.frame(5, 4, 1, zeros(4))),
    ]

    static let ofClient: [ConnectionRule] = [
        ConnectionRule(
            "5.1", "HEADERS on a stream that the client did not open", Wire.headers(3, [(":status", "200")])),
        ConnectionRule("5.1", "a server opens a stream without a promise", Wire.headers(2, [(":status", "200")])),
        ConnectionRule("5.1", "DATA on an idle stream", Wire.data(3, "a")),
        ConnectionRule("6.2", "HEADERS has the stream 0", Wire.headers(0, [(":status", "200")])),
        ConnectionRule("6.4", "RST_STREAM for an idle stream", Wire.reset(3)),
        ConnectionRule("6.5.2", "a server's SETTINGS_ENABLE_PUSH is 1", Wire.settings([(2, 1)])),
        ConnectionRule(
            "6.6", "a server pushes although SETTINGS_ENABLE_PUSH is 0",
            Wire.frame(5, 4, 1, word(2) + Wire.block(Wire.get))),
        ConnectionRule("6.6", "PUSH_PROMISE has the stream 0", Wire.frame(5, 4, 0, word(2))),
        ConnectionRule("6.8", "the last stream of GOAWAY increases", Wire.goAway(1) + Wire.goAway(3)),
    ]

    private static func word(_ number: UInt32) -> [UInt8] { Wire.word(number) }
}

struct ConnectionErrorTests {
    @Test(arguments: ConnectionRule.ofServer)
    func `A server ends the connection`(_ rule: ConnectionRule) throws {
        let server = Side.server()
        let events = server.receive(rule.bytes)
        #expect(events.last == "failed \(rule.code) (RFC 9113, \(rule.section))")
    }

    @Test(arguments: ConnectionRule.ofClient)
    func `A client ends the connection`(_ rule: ConnectionRule) throws {
        let client = Side.client()
        _ = try client.open()
        let events = client.receive(rule.bytes)
        #expect(events.last == "failed \(rule.code) (RFC 9113, \(rule.section))")
    }

    @Test func `RFC 9113, 5.4.1: GOAWAY has the last stream and the code, and nothing is read after the error`() {
        let server = Side.server()
        let events = server.receive(Wire.headers(1, Wire.get) + Wire.data(0, "a") + Wire.headers(3, Wire.get))
        #expect(events.count == 2)
        #expect(server.output() == ["GOAWAY 1 1"])
        #expect(server.receive(Wire.ping()) == [])
        #expect(server.output() == [])
    }

    @Test func `RFC 9113, 3.4: other first bytes than the preface end the connection without GOAWAY`() {
        let server = Side(.server)
        _ = server.output()
        #expect(server.receive(Array("GET / HTTP/1.1\r\n".utf8)) == ["failed PROTOCOL_ERROR (RFC 9113, 3.4)"])
        #expect(server.output() == [])
    }

    @Test(arguments: [Wire.ping(), Wire.settingsAck, Wire.headers(1, Wire.get)])
    func `RFC 9113, 3.4: the first frame of both sides must be SETTINGS`(_ frame: [UInt8]) {
        #expect(Side(.server).receive(Wire.preface + frame) == ["failed PROTOCOL_ERROR (RFC 9113, 3.4)"])
        #expect(Side(.client).receive(frame) == ["failed PROTOCOL_ERROR (RFC 9113, 3.4)"])
    }

    @Test func `RFC 9113, 3.4: both sides send their preface first`() {
        #expect(
            Side(.client).output() == ["preface", "SETTINGS 2=0 6=8000", "WINDOW_UPDATE 0 983041"])
        #expect(Side(.server).output() == ["SETTINGS 3=1000 9=1 6=8000", "WINDOW_UPDATE 0 983041"])
    }
}
