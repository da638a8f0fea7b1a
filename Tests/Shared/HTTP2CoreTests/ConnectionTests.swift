import HTTP2Core
import Testing

/// SETTINGS, PING and GOAWAY (RFC 9113, 6.5, 6.7 and 6.8).
struct ConnectionTests {
    private let server = Side.server()

    /// As the connections of APNSDevice have it.
    private static let withoutTable: EndpointLimits = {
        var limits = EndpointLimits()
        limits.headerTableBytes = 0
        return limits
    }()

    @Test(arguments: [Role.client, .server])
    func `RFC 9113, 3.4: the first SETTINGS are acknowledged after the own preface`(_ role: Role) throws {
        let side = Side(role)
        _ = side.receive((role == .server ? Wire.preface : []) + Wire.settings())
        let output = side.output()
        let settings = try #require(output.firstIndex { $0.hasPrefix("SETTINGS") && $0 != "SETTINGS ack" })
        let acknowledgement = try #require(output.firstIndex(of: "SETTINGS ack"))
        #expect(settings < acknowledgement)
    }

    @Test func `RFC 9113, 5.2.2: control frames are read while windows are closed`() {
        _ = server.receive(Wire.settings([(4, 0)]))
        _ = server.receive(Wire.headers(1, Wire.post, endStream: false))
        server.endpoint.pauseReading(StreamID(1))
        server.respond(1, [(":status", "200")], endStream: false)
        #expect(server.send(1, on: 1) == 0)
        _ = server.output()
        #expect(server.receive(Wire.ping(3) + Wire.settings()) == ["ping 3", "settings"])
        #expect(server.receive(Wire.headers(3, Wire.get)).count == 1)
        #expect(server.receive(Wire.reset(1)) == ["closed 1 CANCEL"])
    }

    @Test func `RFC 9113, 6.5.3: SETTINGS are acknowledged at once`() {
        #expect(server.receive(Wire.settings([(3, 7)])) == ["settings"])
        #expect(server.output() == ["SETTINGS ack"])
    }

    @Test func `RFC 9113, 6.5: the last value of a setting counts`() {
        _ = server.receive(Wire.settings([(3, 7), (3, 9), (6, 100)]))
        #expect(server.peerSettings.maxConcurrentStreams == 9)
        #expect(server.peerSettings.maxHeaderListBytes == 100)
    }

    @Test func `RFC 9113, 6.5.2: unknown settings are ignored`() {
        #expect(server.receive(Wire.settings([(0xfefe, 1)])) == ["settings"])
    }

    @Test func `RFC 9113, 6.5.3: streams beyond a smaller number are served until it is acknowledged`() {
        server.endpoint.announce(concurrentStreams: 1)
        #expect(server.output() == ["SETTINGS 3=1"])
        _ = server.receive(Wire.headers(1, Wire.get))
        #expect(server.receive(Wire.headers(3, Wire.get)).first?.hasPrefix("request 3") == true)
        _ = server.receive(Wire.settingsAck)
        #expect(server.receive(Wire.headers(5, Wire.get)) == ["refused 5 REFUSED_STREAM (RFC 9113, 5.1.2)"])
    }

    @Test func `Announcements wait while the client acknowledges nothing, and the last one is sent`() {
        for streams in 1...10 { server.endpoint.announce(concurrentStreams: streams) }
        #expect(server.output() == (1...4).map { "SETTINGS 3=\($0)" })
        _ = server.receive(Wire.settingsAck)
        #expect(server.output() == ["SETTINGS 3=10"])
    }

    @Test func `Without a table, a client announces it, and no field enters the table of either side`() throws {
        let client = Side(.client, Self.withoutTable)
        _ = try client.open(Wire.get + [("a", "b")])
        let output = client.takeOutput()
        #expect(
            Wire.describe(output) == [
                "preface", "SETTINGS 2=0 1=0 6=8000", "WINDOW_UPDATE 0 983041", "HEADERS 1 end",
            ])
        // RFC 7541, 4.2: the block begins with the size 0. Then come indices of the static table and literals without
        // indexing: GET, https, the path /, the authority a, and a=b.
        let block: [UInt8] = [0x20, 0x82, 0x87, 0x84, 0x01, 0x01, 0x61, 0x00, 0x01, 0x61, 0x01, 0x62]
        #expect(Array(output.suffix(9 + block.count)) == Wire.frame(1, 5, 1, block))
        _ = client.receive(Wire.settings() + Wire.settingsAck)
        // The server begins with the size 0 too, and adds a field to a table without room.
        let answer = [0x20, 0x88, 0x40] + Wire.text("a") + Wire.text("b")
        #expect(client.receive(Wire.frame(1, 5, 1, answer)) == ["response 1 end :status=200 a=b", "closed 1 NO_ERROR"])
        #expect(client.tableBytes == 0)
        #expect(client.receivingTableCapacity == 0)
    }

    @Test func `RFC 9113, 4.3.1: until the peer has acknowledged the size 0, its table is as large as before`() throws {
        let client = Side(.client, Self.withoutTable)
        for _ in 0..<3 { _ = try client.open() }
        let added = [0x88, 0x40] + Wire.text("a") + Wire.text("b")
        _ = client.receive(Wire.settings() + Wire.frame(1, 5, 1, added))
        #expect(client.receive(Wire.frame(1, 5, 3, [0x88, 0xbe])).first == "response 3 end :status=200 a=b")
        _ = client.receive(Wire.settingsAck)
        #expect(client.receive(Wire.frame(1, 5, 5, [0x88])) == ["failed COMPRESSION_ERROR (RFC 9113, 4.3.1)"])
    }

    @Test func `RFC 9113, 6.7: PING is answered with its payload`() {
        #expect(server.receive(Wire.ping(9)) == ["ping 9"])
        #expect(server.output() == ["PING 9 ack"])
    }

    @Test func `RFC 9113, 6.7: the answer to PING is not answered`() {
        #expect(server.receive(Wire.ping(9, isAck: true)) == ["ping acknowledged 9"])
        #expect(server.output() == [])
    }

    @Test func `RFC 9113, 6.8: after GOAWAY no stream is opened`() throws {
        let client = Side.client()
        _ = try client.open()
        _ = try client.open()
        #expect(
            client.receive(Wire.goAway(1, 0, debug: "bye")) == ["goaway 1 NO_ERROR bye", "closed 3 REFUSED_STREAM"])
        #expect(throws: HTTP2Endpoint.OpenFailure.self) { try client.open() }
        #expect(!client.isFinished)
        _ = client.receive(Wire.headers(1, [(":status", "200")]))
        #expect(client.isFinished)
    }

    @Test func `A request that cannot begin says whether another connection can take it`() throws {
        func failure(_ client: Side) throws -> String {
            let error = try #require(throws: HTTP2Endpoint.OpenFailure.self) { try client.open() }
            return "\(error)"
        }
        let goesAway = Side.client()
        goesAway.endpoint.goAway(lastStream: .last, .noError)
        #expect(try failure(goesAway) == "goingAway")
        #expect(goesAway.availableStreams == 0)
        let hasFailed = Side.client()
        #expect(hasFailed.receive(Wire.data(0, "")).count == 1)
        #expect(try failure(hasFailed) == "notActive")
        let isClosed = Side.client()
        isClosed.endpoint.close()
        #expect(try failure(isClosed) == "notActive")
        #expect(isClosed.receive(Wire.ping(1)) == [] && isClosed.output() == [])
    }

    @Test func `RFC 9113, 3.4 and 6.8: a client's preface may come after the server's GOAWAY`() {
        let server = Side(.server)
        server.endpoint.goAway(lastStream: .connection, .noError)
        _ = server.output()
        #expect(!server.hasReceivedSettings)
        #expect(server.receive(Wire.preface + Wire.settings() + Wire.headers(1, Wire.get)) == ["settings"])
        #expect(server.hasReceivedSettings && server.isFinished)
        #expect(server.lastAcceptedStream == .connection)
        let other = Side(.server)
        other.endpoint.goAway(lastStream: .connection, .noError)
        #expect(other.receive(Wire.preface + Wire.ping(1)) == ["failed PROTOCOL_ERROR (RFC 9113, 3.4)"])
        #expect(!other.hasReceivedSettings)
    }

    @Test func `An endpoint that was closed still knows why it has failed`() {
        _ = server.receive(Wire.data(0, ""))
        server.endpoint.close()
        #expect(server.hasFailed && server.isFinished)
    }

    @Test func `RFC 9113, 6.8: streams above the last one of our GOAWAY are ignored, but decoded`() {
        server.endpoint.goAway(lastStream: StreamID(1), .noError)
        #expect(server.output() == ["GOAWAY 1 0"])
        let indexed = Wire.block(Wire.get) + [0x40] + Wire.text("a") + Wire.text("b")
        #expect(server.receive(Wire.frame(1, 4, 3, indexed) + Wire.data(3, "abc")) == [])
        // 1 is still served, and refers to the field that came with 3.
        let server = Side.server()
        server.endpoint.goAway(lastStream: StreamID(3), .noError)
        _ = server.receive(Wire.frame(1, 5, 5, indexed))
        #expect(server.output() == ["GOAWAY 3 0"])
        #expect(server.receive(Wire.frame(1, 5, 7, Wire.block(Wire.get) + [0xbe])) == [])
        #expect(!server.hasFailed)
    }

    @Test func `What is ignored can be told`() {
        server.endpoint.tellsIgnored = true
        _ = server.receive(Wire.headers(1, Wire.post, endStream: false) + Wire.reset(1))
        server.endpoint.goAway(lastStream: StreamID(1), .noError)
        // 1 was reset, and 3 came too late.
        #expect(
            server.receive(Wire.data(1, "abc") + Wire.headers(3, [(":path", "/")], endStream: false))
                == ["ignored data 1 abc", "ignored 3 :path=/"])
        let padded = Wire.frame(Wire.data, Wire.padded, 3, [2] + Array("def".utf8) + [0, 0])
        #expect(
            server.receive(padded + Wire.data(3, "", endStream: true) + Wire.headers(1, [("a", "b")]))
                == ["ignored data 3 def", "ignored data 3 end ", "ignored 1 end a=b"])
    }

    @Test func `RFC 9113, 8.7: a server that refuses new streams resets them, and does not process them`() {
        _ = server.receive(Wire.headers(1, Wire.get))
        server.endpoint.refuseStreams()
        #expect(server.receive(Wire.headers(3, Wire.get) + Wire.headers(5, [])) == [])
        #expect(server.output() == ["RST_STREAM 3 7", "RST_STREAM 5 7"])
        server.endpoint.goAway(lastStream: server.lastProcessedStream, .noError)
        #expect(server.receive(Wire.headers(7, Wire.get)) == [])
        #expect(server.output() == ["GOAWAY 1 0"])
    }

    /// 4 MiB are twice what may be ignored otherwise.
    private func sendFourMiB(on stream: UInt32) -> [String] {
        let frame = Wire.frame(Wire.data, 0, stream, [UInt8](repeating: 0x61, count: 16_384))
        return server.receive((1...256).flatMap { _ in frame })
    }

    @Test func `A server that refuses new streams does not count their content as a flood`() {
        server.endpoint.refuseStreams()
        _ = server.receive(Wire.headers(1, Wire.post, endStream: false))
        #expect(sendFourMiB(on: 1) == [])
    }

    @Test func `A server that refuses new streams still counts the content of streams that ended before`() {
        _ = server.receive(Wire.headers(1, Wire.post, endStream: false) + Wire.reset(1))
        server.endpoint.refuseStreams()
        #expect(sendFourMiB(on: 1) == ["failed flood bytes of no stream"])
    }

    @Test func `A server that refuses new streams lets no more of them earn frames than may be under way`() {
        var limits = EndpointLimits()
        limits.maxConcurrentStreams = 10
        let server = Side.server(limits)
        server.endpoint.refuseStreams()
        // Each stream takes one of the frames that it would earn otherwise.
        var events: [String] = []
        for stream in stride(from: UInt32(1), to: 4_400, by: 2) {
            events += server.receive(Wire.headers(stream, Wire.get))
            _ = server.output()
        }
        #expect(events == ["failed flood idle frames"])
    }

    @Test func `A server that answers nothing more still tells what is ignored, and sends what waits`() {
        server.endpoint.tellsIgnored = true
        _ = server.receive(Wire.headers(1, Wire.post, endStream: false))
        server.respond(1, [(":status", "200")], endStream: false)
        server.endpoint.goAway(lastStream: StreamID(1), .noError)
        _ = server.output()
        server.endpoint.stopAnswering()
        #expect(server.receive(Wire.ping(1) + Wire.settings()) == ["ping 1", "settings"])
        #expect(server.receive(Wire.headers(3, [(":path", "/")])) == ["ignored 3 end :path=/"])
        // A connection error ends the reading, and no GOAWAY follows the last one.
        #expect(server.receive(Wire.data(0, "")) == [])
        #expect(server.receive(Wire.headers(5, Wire.get)) == [])
        #expect(server.output() == [])
        #expect(server.send(10, on: 1, endStream: true) == 10)
        #expect(server.output() == ["DATA 1 10 end"])
    }

    @Test func `Content in error is not told, because its stream ends after it has begun`() {
        server.endpoint.tellsIgnored = true
        _ = server.receive(Wire.headers(1, Wire.post))
        #expect(server.receive(Wire.data(1, "abc")) == ["closed 1 STREAM_CLOSED (RFC 9113, 5.1)"])
    }

    @Test func `RFC 9113, 6.8: DATA above the last stream of our GOAWAY counts for the connection's window`() {
        server.endpoint.goAway(lastStream: StreamID(1), .noError)
        _ = server.receive(Wire.headers(3, Wire.post, endStream: false))
        _ = server.output()
        // Half of the window of 1 MiB.
        let frame = Wire.frame(Wire.data, 0, 3, [UInt8](repeating: 0x61, count: 16_384))
        #expect(server.receive((1...32).flatMap { _ in frame }) == [])
        #expect(server.output() == ["WINDOW_UPDATE 0 524288"])
    }

    @Test func `RFC 9113, 6.8: the last stream of our GOAWAY does not increase`() {
        server.endpoint.goAway(lastStream: StreamID(3), .noError)
        server.endpoint.goAway(lastStream: .last, .noError)
        #expect(server.output() == ["GOAWAY 3 0", "GOAWAY 3 0"])
    }

    @Test func `RFC 9113, 6.8: a notice with 2^31-1 still lets requests through`() {
        server.endpoint.goAway(lastStream: .last, .noError)
        #expect(server.receive(Wire.headers(1, Wire.get)).first?.hasPrefix("request 1") == true)
    }

    @Test func `RFC 9113, 7: unknown error codes have no special effect`() throws {
        _ = server.receive(Wire.headers(1, Wire.get))
        #expect(server.receive(Wire.reset(1, 0xfefe)) == ["closed 1 0xfefe"])
        #expect(server.receive(Wire.goAway(0, 0xfefe)) == ["goaway 0 0xfefe "])
    }

    @Test func `RFC 9113, 8.7: GOAWAY of an error names every stream that the application saw`() {
        _ = server.receive(Wire.headers(1, Wire.get) + Wire.headers(5, Wire.get))
        // 7 is malformed, so it must not be sent again elsewhere.
        _ = server.receive(Wire.headers(7, []))
        _ = server.output()
        _ = server.receive(Wire.data(0, ""))
        #expect(server.output() == ["GOAWAY 7 1"])
    }

    @Test func `The debug data of GOAWAY fits into a frame that every peer accepts`() {
        server.endpoint.goAway(lastStream: .last, .noError, debugData: [UInt8](repeating: 1, count: 20_000))
        #expect(server.takeOutput().count == 9 + 16_384)
    }
}
