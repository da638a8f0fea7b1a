import HTTP2Core
import Testing

/// A message that is malformed (RFC 9113, 8.1.1).
struct Malformed: Sendable, CustomTestStringConvertible {
    let section: String
    let text: String
    let fields: [(String, String)]

    init(_ section: String, _ text: String, _ fields: [(String, String)]) {
        (self.section, self.text, self.fields) = (section, text, fields)
    }

    var testDescription: String { "RFC 9113, \(section): \(text)" }

    private static func get(_ name: String, _ value: String) -> [(String, String)] { Wire.get + [(name, value)] }

    private static func get(without name: String) -> [(String, String)] { Wire.get.filter { $0.0 != name } }

    private static func get(with name: String, _ value: String) -> [(String, String)] {
        Wire.get.map { $0.0 == name ? (name, value) : $0 }
    }

    static let requests: [Malformed] = [
        Malformed("8.2.1", "a name has a capital letter (8.2)", get("Accept", "a")),
        Malformed("8.2.1", "a name has a blank", get("ac cept", "a")),
        Malformed("8.2.1", "a name has a NUL", get("a\u{0}", "a")),
        Malformed("8.2.1", "a name has a DEL", get("a\u{7f}", "a")),
        Malformed("8.2.1", "a name has a byte above 0x7f", get("a\u{e4}", "a")),
        Malformed("8.2.1", "a name has a colon", get("a:b", "a")),
        Malformed("8.2.1", "a name is empty", get("", "a")),
        Malformed("8.2.1", "a value has a NUL", get("a", "b\u{0}c")),
        Malformed("8.2.1", "a value has a line feed", get("a", "b\nc")),
        Malformed("8.2.1", "a value has a carriage return", get("a", "b\rc")),
        Malformed("8.2.1", "a value begins with a blank", get("a", " b")),
        Malformed("8.2.1", "a value ends with a tab", get("a", "b\t")),
        Malformed("8.2.1", "the value of a pseudo-header field has a NUL", get(with: ":path", "/\u{0}")),
        Malformed("8.2.2", "connection", get("connection", "close")),
        Malformed("8.2.2", "proxy-connection", get("proxy-connection", "close")),
        Malformed("8.2.2", "keep-alive", get("keep-alive", "1")),
        Malformed("8.2.2", "transfer-encoding", get("transfer-encoding", "chunked")),
        Malformed("8.2.2", "upgrade", get("upgrade", "h2c")),
        Malformed("8.2.2", "te has another value than trailers", get("te", "gzip")),
        Malformed("8.3", "a pseudo-header field follows a regular field", [("a", "b")] + Wire.get),
        Malformed("8.3", "a request has :status", [(":status", "200")] + Wire.get),
        Malformed("8.3", "a pseudo-header field is unknown", [(":protocol", "a")] + Wire.get),
        Malformed("8.3", ":method is repeated", [(":method", "GET")] + Wire.get),
        Malformed("8.3", ":authority is repeated", [(":authority", "a")] + Wire.get),
        Malformed("8.3.1", ":method is missing", get(without: ":method")),
        Malformed("8.3.1", ":scheme is missing", get(without: ":scheme")),
        Malformed("8.3.1", ":path is missing", get(without: ":path")),
        Malformed("8.3.1", ":method is not a token", get(with: ":method", "G ET")),
        Malformed("8.3.1", ":scheme is not the name of a scheme", get(with: ":scheme", "1http")),
        Malformed("8.3.1", ":path has a blank", get(with: ":path", "/a b")),
        Malformed("8.3.1", ":authority has a blank", get(with: ":authority", "a b")),
        Malformed("8.3.1", ":authority is empty", get(with: ":authority", "")),
        Malformed("8.3.1", ":path is empty", get(with: ":path", "")),
        Malformed("8.3.1", ":path does not begin with /", get(with: ":path", "a")),
        Malformed("8.3.1", ":path is * without OPTIONS", get(with: ":path", "*")),
        Malformed("8.3.1", "host is repeated", Wire.get + [("host", "b"), ("host", "a")]),
        Malformed("8.3.1", ":authority has userinfo", get(with: ":authority", "u@a")),
        Malformed("8.3.1", "host differs from :authority", get("host", "b")),
        Malformed("8.1.1", "content-length is not a number", get("content-length", "1x")),
        Malformed("8.1.1", "content-length has two values", get("content-length", "0") + [("content-length", "1")]),
        Malformed("8.1.1", "a request without content has a content-length", get("content-length", "1")),
        Malformed("8.5", "CONNECT has :scheme", [(":method", "CONNECT"), (":authority", "a"), (":scheme", "https")]),
        Malformed("8.5", "CONNECT has :path", [(":method", "CONNECT"), (":authority", "a"), (":path", "/")]),
        Malformed("8.5", "CONNECT has no :authority", [(":method", "CONNECT")]),
    ]

    static let responses: [Malformed] = [
        Malformed("8.2.1", "a name has a capital letter", [(":status", "200"), ("A", "a")]),
        Malformed("8.2.1", "a value has a line feed", [(":status", "200"), ("a", "\n")]),
        Malformed("8.2.2", "connection", [(":status", "200"), ("connection", "close")]),
        Malformed("8.2.2", "te", [(":status", "200"), ("te", "trailers")]),
        Malformed("8.3", "a pseudo-header field follows a regular field", [("a", "a"), (":status", "200")]),
        Malformed("8.3", "a response has :path", [(":status", "200"), (":path", "/")]),
        Malformed("8.3", ":status is repeated", [(":status", "200"), (":status", "200")]),
        Malformed("8.3.2", ":status is missing", [("a", "a")]),
        Malformed("8.3.2", ":status is not a number of three digits", [(":status", "20")]),
        Malformed("8.6", ":status is 101", [(":status", "101")]),
        Malformed("8.1", "an interim response ends the stream", [(":status", "100")]),
        Malformed(
            "8.1.1", "a response without content has a content-length", [(":status", "200"), ("content-length", "1")]),
    ]
}

struct MessageTests {
    @Test(arguments: Malformed.requests) func `A server refuses`(_ message: Malformed) {
        let server = Side.server()
        let events = server.receive(Wire.headers(1, message.fields))
        #expect(events == ["refused 1 PROTOCOL_ERROR (RFC 9113, \(message.section))"])
        #expect(server.output() == ["RST_STREAM 1 1"])
        // It is a stream error: the connection goes on.
        #expect(server.receive(Wire.headers(3, Wire.get)).count == 1)
    }

    @Test(arguments: Malformed.responses) func `A client refuses`(_ message: Malformed) throws {
        let client = Side.client()
        _ = try client.open()
        let events = client.receive(Wire.headers(1, message.fields))
        #expect(events == ["closed 1 PROTOCOL_ERROR (RFC 9113, \(message.section))"])
    }

    @Test(arguments: Malformed.requests.filter { $0.section != "8.1.1" })
    func `RFC 9113, 8.2 and 8.3: a client does not send`(_ message: Malformed) throws {
        let client = Side.client()
        #expect(throws: HTTP2Endpoint.OpenFailure.self) { try client.open(message.fields) }
        #expect(client.output() == [])
        #expect(try client.open() == 1)
    }

    @Test(arguments: Malformed.responses.filter { $0.section != "8.1.1" })
    func `RFC 9113, 8.2 and 8.3: a server does not send`(_ message: Malformed) {
        let server = Side.server()
        _ = server.receive(Wire.headers(1, Wire.get))
        #expect(server.respond(1, message.fields).hasPrefix("malformed"))
        #expect(server.output() == [])
    }

    // MARK: What is allowed

    @Test func `RFC 9113, 8.2.2: te may be trailers`() {
        let events = Side.server().receive(Wire.headers(1, Wire.get + [("te", "trailers")]))
        #expect(events.first?.hasPrefix("request 1 end") == true)
    }

    @Test func `RFC 9113, 8.3.1: OPTIONS may have the path *`() {
        let fields = [(":method", "OPTIONS"), (":scheme", "https"), (":path", "*")]
        #expect(Side.server().receive(Wire.headers(1, fields)).first?.hasPrefix("request") == true)
    }

    @Test(arguments: [("a", "A"), ("a:443", "a"), ("a", "a:443")])
    func `RFC 9113, 8.3.1: host and authority are normalized before they are compared`(_ pair: (String, String)) {
        let fields = Wire.get.dropLast() + [(":authority", pair.0), ("host", pair.1)]
        #expect(Side.server().receive(Wire.headers(1, Array(fields))).first?.hasPrefix("request") == true)
    }

    @Test func `RFC 9113, 8.2.1: blanks around values pass if the limits allow it`() {
        var limits = EndpointLimits()
        limits.allowsBlanksAroundValues = true
        let events = Side.server(limits).receive(Wire.headers(1, Wire.get + [("a", " b ")]))
        #expect(events.first?.hasSuffix("a= b ") == true)
    }

    @Test func `RFC 9113, 8.5: CONNECT has only method and authority, and its tunnel carries only DATA`() {
        let server = Side.server()
        let fields = [(":method", "CONNECT"), (":authority", "a:443"), ("content-length", "5")]
        #expect(server.receive(Wire.headers(1, fields, endStream: false)).first?.hasPrefix("request 1 ") == true)
        #expect(server.receive(Wire.data(1, "abc")) == ["data 1 abc"])
        let events = server.receive(Wire.headers(1, [("a", "b")]))
        #expect(events == ["closed 1 PROTOCOL_ERROR (RFC 9113, 8.5)"])
    }

    // MARK: 8.1

    @Test func `RFC 9113, 8.1: trailers end the stream`() {
        let server = Side.server()
        _ = server.receive(Wire.headers(1, Wire.post, endStream: false) + Wire.data(1, "a"))
        #expect(server.receive(Wire.headers(1, [("a", "b")])) == ["trailers 1 a=b"])
    }

    @Test func `RFC 9113, 8.1: trailers without END_STREAM are malformed`() {
        let server = Side.server()
        _ = server.receive(Wire.headers(1, Wire.post, endStream: false))
        let events = server.receive(Wire.headers(1, [("a", "b")], endStream: false))
        #expect(events == ["closed 1 PROTOCOL_ERROR (RFC 9113, 8.1)"])
    }

    @Test func `RFC 9113, 8.1: trailers with a pseudo-header field are malformed`() {
        let server = Side.server()
        _ = server.receive(Wire.headers(1, Wire.post, endStream: false))
        let events = server.receive(Wire.headers(1, [(":path", "/")]))
        #expect(events == ["closed 1 PROTOCOL_ERROR (RFC 9113, 8.1)"])
    }

    @Test func `RFC 9113, 8.1: interim responses precede the final one`() throws {
        let client = Side.client()
        _ = try client.open()
        let interim = Wire.headers(1, [(":status", "100")], endStream: false)
        let events = client.receive(interim + interim + Wire.headers(1, [(":status", "200")]))
        #expect(
            events == [
                "interim 1 :status=100", "interim 1 :status=100", "response 1 end :status=200", "closed 1 NO_ERROR",
            ])
    }

    @Test func `RFC 9113, 8.1: an interim response that is too large is not the final one`() throws {
        let client = Side.client()
        let stream = try client.open()
        let long = String(repeating: "v", count: 100)
        let links = (0..<70).map { ("a\($0)", long) }
        let interim = Wire.headers(stream, [(":status", "103")] + links, endStream: false)
        #expect(client.receive(interim).first?.hasPrefix("interim \(stream) :status=103") == true)
        #expect(
            client.receive(Wire.headers(stream, [(":status", "200")])).first == "response \(stream) end :status=200")
    }

    @Test(arguments: [[(":path", "/")], [("a", "line\nline")], [("A", "a")], [("connection", "close")]])
    func `RFC 9113, 8.2 and 8.3: the fields of a list that is too large are checked`(_ wrong: [(String, String)]) {
        let server = Side.server()
        let long = String(repeating: "v", count: 100)
        let fields = Wire.get + wrong + (0..<70).map { ("a\($0)", long) }
        let events = server.receive(Wire.headers(1, fields))
        #expect(events.count == 1)
        #expect(events.first?.hasPrefix("refused 1") == true)
    }

    @Test func `RFC 9113, 8.1: HEADERS after the final response without END_STREAM are malformed`() throws {
        let client = Side.client()
        _ = try client.open()
        let response = Wire.headers(1, [(":status", "200")], endStream: false)
        #expect(client.receive(response + response).last == "closed 1 PROTOCOL_ERROR (RFC 9113, 8.1)")
    }

    @Test func `RFC 9113, 8.1: DATA before the response is malformed`() throws {
        let client = Side.client()
        _ = try client.open()
        #expect(client.receive(Wire.data(1, "a")) == ["closed 1 PROTOCOL_ERROR (RFC 9113, 8.1)"])
    }

    @Test func `RFC 9113, 8.1: a reset with NO_ERROR after the response does not discard it`() throws {
        let client = Side.client()
        _ = try client.open(Wire.post, endStream: false)
        let events = client.receive(Wire.headers(1, [(":status", "200")]) + Wire.reset(1, 0))
        #expect(events == ["response 1 end :status=200", "closed 1 NO_ERROR"])
    }

    // MARK: 8.1.1

    @Test func `RFC 9113, 8.1.1: less content than content-length is malformed`() {
        let server = Side.server()
        _ = server.receive(Wire.headers(1, Wire.post + [("content-length", "3")], endStream: false))
        let events = server.receive(Wire.data(1, "ab", endStream: true))
        #expect(events == ["closed 1 PROTOCOL_ERROR (RFC 9113, 8.1.1)"])
    }

    @Test func `RFC 9113, 8.1.1: more content than content-length is malformed`() {
        let server = Side.server()
        _ = server.receive(Wire.headers(1, Wire.post + [("content-length", "3")], endStream: false))
        #expect(server.receive(Wire.data(1, "abcd")) == ["closed 1 PROTOCOL_ERROR (RFC 9113, 8.1.1)"])
    }

    @Test func `RFC 9113, 8.1.1: trailers before the whole content are malformed`() {
        let server = Side.server()
        _ = server.receive(Wire.headers(1, Wire.post + [("content-length", "3")], endStream: false))
        let events = server.receive(Wire.headers(1, [("a", "b")]))
        #expect(events == ["closed 1 PROTOCOL_ERROR (RFC 9113, 8.1.1)"])
    }

    @Test func `RFC 9113, 8.1.1: padding is not content`() {
        let server = Side.server()
        _ = server.receive(Wire.headers(1, Wire.post + [("content-length", "1")], endStream: false))
        #expect(server.receive(Wire.frame(0, 9, 1, [2, 0x61, 0, 0])) == ["data 1 end a"])
    }

    @Test(arguments: ["204", "304"])
    func `RFC 9113, 8.1.1: a response without content may have a content-length`(_ status: String) throws {
        let client = Side.client()
        _ = try client.open()
        let events = client.receive(Wire.headers(1, [(":status", status), ("content-length", "5")]))
        #expect(events.first?.hasPrefix("response 1 end") == true)
    }

    @Test func `RFC 9113, 8.1.1: the response to HEAD may have a content-length and has no content`() throws {
        let client = Side.client()
        let head = Wire.get.map { $0.0 == ":method" ? (":method", "HEAD") : $0 }
        _ = try client.open(head)
        let response = Wire.headers(1, [(":status", "200"), ("content-length", "5")], endStream: false)
        #expect(client.receive(response).first?.hasPrefix("response 1 ") == true)
        #expect(client.receive(Wire.data(1, "abcde")) == ["closed 1 PROTOCOL_ERROR (RFC 9113, 8.1.1)"])
    }

    @Test func `RFC 9113, 8.1: a server does not send trailers without END_STREAM`() {
        let server = Side.server()
        _ = server.receive(Wire.headers(1, Wire.get))
        server.respond(1, [(":status", "200")], endStream: false)
        #expect(server.respond(1, [("a", "b")], endStream: false) == "malformed (RFC 9113, 8.1)")
        #expect(server.respond(1, [("a", "b")]) == "sent")
    }
}
