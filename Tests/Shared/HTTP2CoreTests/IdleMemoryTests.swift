import HTTP2Core
import Testing

/// An idle connection holds next to nothing: buffers exist only while something is under way.
struct IdleMemoryTests {
    private let server = Side.server()

    @Test func `A new endpoint allocates only what it has to send`() {
        let server = Side(.server)
        #expect(server.heldCapacity == server.outputCapacity)
        #expect(server.tableBytes == 0)
    }

    @Test func `Without anything under way, an endpoint holds no buffers`() {
        for stream in stride(from: UInt32(1), to: 201, by: 2) {
            _ = server.receive(
                Wire.headers(stream, Wire.post, endStream: false) + Wire.data(stream, "a", endStream: true))
            server.respond(stream, [(":status", "200")])
            _ = server.queued()
        }
        _ = server.output()
        server.endpoint.releaseIdleMemory()
        #expect(server.heldCapacity == 0)
        // Literals without indexing and static fields take no room in the tables.
        #expect(server.tableBytes == 0)
    }

    @Test func `After large frames, blocks and answers, an endpoint holds only its tables`() throws {
        var text: [UInt8] = Wire.block(Wire.get)
        for number in 0..<100 { text += [0x40] + Wire.text("name-\(number)") + Wire.text("value-\(number)") }
        let half = text.count / 2
        _ = server.receive(Wire.frame(1, 1, 1, Array(text[..<half])) + Wire.frame(9, 4, 1, Array(text[half...])))
        // A frame that comes in parts.
        let goAway = Wire.goAway(0, 0, debug: String(repeating: "x", count: 16_000))
        _ = server.receive(Array(goAway[..<9_000]))
        _ = server.receive(Array(goAway[9_000...]))
        server.respond(1, [(":status", "200"), ("a", String(repeating: "~", count: 3_000))], endStream: false)
        #expect(server.send(60_000, on: 1, endStream: true) == 60_000)
        _ = server.queued()
        _ = server.output()
        server.endpoint.releaseIdleMemory()
        #expect(server.heldCapacity == 0)
        // The tables are the compression's state. They are limited by the settings.
        #expect((1...8_192).contains(server.tableBytes))
    }

    @Test func `A stream that waits is all that keeps memory`() {
        _ = server.receive(Wire.headers(1, Wire.post, endStream: false))
        for stream in stride(from: UInt32(3), to: 2_003, by: 2) {
            _ = server.receive(Wire.headers(stream, Wire.get))
            server.respond(stream, [(":status", "200")])
            _ = server.queued()
        }
        _ = server.output()
        server.endpoint.releaseIdleMemory()
        #expect(server.openStreams == 1)
        #expect(server.streamCapacity == 4)
        #expect(server.heldCapacity == 4)
        #expect(server.receive(Wire.data(1, "a", endStream: true)) == ["data 1 end a"])
    }

    @Test func `An idle endpoint's tables have no room for more than their entries`() {
        for number in 0..<200 {
            let field = [0x40] + Wire.text("name-\(number)") + Wire.text("value-\(number)")
            _ = server.receive(Wire.frame(1, 5, UInt32(2 * number + 1), Wire.block(Wire.get) + field))
        }
        server.endpoint.releaseIdleMemory()
        // Each entry counts 32 bytes more than it has. An allocation is rounded up.
        #expect((1...4_096).contains(server.tableBytes))
        #expect(server.receivingTableCapacity < server.tableBytes)
        // The entries are the same: the newest is the first one of the table.
        let events = server.receive(Wire.frame(1, 5, 401, Wire.block(Wire.get) + [0xbe]))
        #expect(events.first?.hasSuffix("name-199=value-199") == true)
    }

    @Test func `A closed endpoint holds nothing, and neither reads nor sends`() {
        let field = [0x40] + Wire.text("a") + Wire.text("b")
        _ = server.receive(Wire.frame(1, 4, 1, Wire.block(Wire.get) + field))
        server.respond(1, [(":status", "200"), ("a", "b")], endStream: false)
        #expect(server.tableCapacity > 0)
        server.endpoint.close()
        #expect(server.heldCapacity == 0)
        #expect(server.tableCapacity == 0)
        #expect(server.receive(Wire.headers(3, Wire.get)) == [])
        #expect(server.send(1, on: 1) == nil)
        server.endpoint.ping(1)
        server.endpoint.goAway(lastStream: .last, .noError)
        #expect(server.output() == [])
    }

    @Test func `The peer can empty the table of what it sends`() {
        let field = [0x40] + Wire.text("a") + Wire.text("b")
        _ = server.receive(Wire.frame(1, 5, 1, Wire.block(Wire.get) + field))
        #expect(server.tableBytes == 34)
        _ = server.receive(Wire.frame(1, 5, 3, [0x20] + Wire.block(Wire.get)))
        #expect(server.tableBytes == 0)
        #expect(server.receivingTableCapacity == 0)
    }
}
