import HTTP2Core
import Testing

/// A flood: frames that cost the peer little and us much (RFC 9113, 10.5).
struct Flood: Sendable, CustomTestStringConvertible {
    /// The side that is flooded. A client has begun a request on the stream 1.
    var role = Role.server
    let name: String
    let kind: FloodKind
    /// What comes first.
    let beginning: [UInt8]
    /// One round of the flood; the number is the round's.
    let round: @Sendable (UInt32) -> [UInt8]
    /// How many rounds are allowed at once, at least.
    let allowed: Int

    var testDescription: String { "\(role): \(name)" }

    private static let open = Wire.headers(1, Wire.post, endStream: false)
    private static func stream(_ round: UInt32) -> UInt32 { 2 * round + 3 }

    static let all = ofServer + ofClient

    private static let ofServer: [Flood] = [
        Flood(
            name: "Rapid reset (CVE-2023-44487)", kind: .resets, beginning: [],
            round: { Wire.headers(stream($0), Wire.get) + Wire.reset(stream($0)) }, allowed: 1_000),
        Flood(
            name: "MadeYouReset by an increment of 0 (CVE-2025-8671)", kind: .resets, beginning: [],
            round: { Wire.headers(stream($0), Wire.get) + Wire.windowUpdate(stream($0), 0) }, allowed: 1_000),
        Flood(
            name: "MadeYouReset by DATA after the end (CVE-2025-8671)", kind: .resets, beginning: [],
            round: { Wire.headers(stream($0), Wire.get) + Wire.data(stream($0), "") }, allowed: 1_000),
        Flood(
            name: "Malformed requests", kind: .resets, beginning: [],
            round: { Wire.headers(stream($0), []) }, allowed: 1_000),
        Flood(
            name: "SETTINGS (CVE-2019-9515)", kind: .settings, beginning: [], round: { _ in Wire.settings() },
            allowed: 48),
        Flood(name: "PING (CVE-2019-9512)", kind: .pings, beginning: [], round: { _ in Wire.ping() }, allowed: 200),
        Flood(
            name: "Answers to PING that was not sent", kind: .pings, beginning: [],
            round: { _ in Wire.ping(isAck: true) }, allowed: 200),
        Flood(
            name: "Empty DATA (CVE-2019-9518)", kind: .idleFrames, beginning: open,
            round: { _ in Wire.data(1, "") }, allowed: 2_000),
        Flood(
            name: "DATA that is only padding (CVE-2019-9518)", kind: .idleFrames, beginning: open,
            round: { _ in Wire.frame(0, Wire.padded, 1, [0]) }, allowed: 2_000),
        Flood(
            name: "PRIORITY (CVE-2019-9513)", kind: .idleFrames, beginning: [],
            round: { _ in Wire.frame(2, 0, 1, [0, 0, 0, 0, 0]) }, allowed: 2_000),
        Flood(
            name: "WINDOW_UPDATE", kind: .idleFrames, beginning: [], round: { _ in Wire.windowUpdate(0, 1) },
            allowed: 2_000),
        Flood(
            name: "Frames of unknown types", kind: .idleFrames, beginning: [], round: { _ in Wire.frame(0xfe) },
            allowed: 2_000),
        Flood(
            name: "Resets of closed streams", kind: .idleFrames, beginning: open + Wire.reset(1),
            round: { _ in Wire.reset(1) }, allowed: 1_990),
        Flood(
            name: "Trailers of streams that we reset", kind: .idleFrames, beginning: open + Wire.windowUpdate(1, 0),
            round: { _ in Wire.headers(1, [("a", "b")]) }, allowed: 1_980),
        Flood(
            name: "GOAWAY", kind: .idleFrames, beginning: [], round: { _ in Wire.goAway(0) }, allowed: 2_000),
        Flood(
            name: "DATA of closed streams", kind: .ignoredBytes, beginning: open + Wire.reset(1),
            round: { _ in Wire.frame(0, 0, 1, [UInt8](repeating: 0, count: 16_384)) }, allowed: 127),
        Flood(
            name: "Large frames of unknown types", kind: .ignoredBytes, beginning: [],
            round: { _ in Wire.frame(0xfe, 0, 0, [UInt8](repeating: 0, count: 16_384)) }, allowed: 127),
        Flood(
            name: "CONTINUATION (CVE-2024-28182)", kind: .continuations,
            beginning: Wire.headers(1, Wire.get, endHeaders: false), round: { _ in Wire.frame(9, 0, 1) }, allowed: 8),
    ]

    private static let status = [(":status", "200")]

    /// Before each round with a reset, the client begins another request.
    private static let ofClient: [Flood] = [
        Flood(
            role: .client, name: "Resets of requests", kind: .resets, beginning: [],
            round: { Wire.reset(stream($0)) }, allowed: 1_000),
        Flood(
            role: .client, name: "Malformed responses", kind: .resets, beginning: [],
            round: { Wire.headers(stream($0), []) }, allowed: 1_000),
        Flood(
            role: .client, name: "Increments of 0", kind: .resets, beginning: [],
            round: { Wire.windowUpdate(stream($0), 0) }, allowed: 1_000),
        Flood(
            role: .client, name: "SETTINGS", kind: .settings, beginning: [], round: { _ in Wire.settings() },
            allowed: 48),
        Flood(role: .client, name: "PING", kind: .pings, beginning: [], round: { _ in Wire.ping() }, allowed: 200),
        Flood(
            role: .client, name: "Answers to PING that was not sent", kind: .pings, beginning: [],
            round: { _ in Wire.ping(isAck: true) }, allowed: 200),
        Flood(
            role: .client, name: "Empty DATA", kind: .idleFrames,
            beginning: Wire.headers(1, status, endStream: false), round: { _ in Wire.data(1, "") }, allowed: 2_000),
        Flood(
            role: .client, name: "PRIORITY", kind: .idleFrames, beginning: [],
            round: { _ in Wire.frame(2, 0, 1, [0, 0, 0, 0, 0]) }, allowed: 2_000),
        Flood(
            role: .client, name: "WINDOW_UPDATE", kind: .idleFrames, beginning: [],
            round: { _ in Wire.windowUpdate(0, 1) }, allowed: 2_000),
        Flood(
            role: .client, name: "Frames of unknown types", kind: .idleFrames, beginning: [],
            round: { _ in Wire.frame(0xfe) }, allowed: 2_000),
        Flood(
            role: .client, name: "Resets of closed streams", kind: .idleFrames, beginning: Wire.reset(1),
            round: { _ in Wire.reset(1) }, allowed: 2_000),
        Flood(
            role: .client, name: "Responses of closed streams", kind: .idleFrames, beginning: Wire.reset(1),
            round: { _ in Wire.headers(1, status) }, allowed: 2_000),
        Flood(
            role: .client, name: "GOAWAY", kind: .idleFrames, beginning: [], round: { _ in Wire.goAway(1) },
            allowed: 2_000),
        Flood(
            role: .client, name: "DATA of closed streams", kind: .ignoredBytes, beginning: Wire.reset(1),
            round: { _ in Wire.frame(0, 0, 1, [UInt8](repeating: 0, count: 16_384)) }, allowed: 127),
        Flood(
            role: .client, name: "Large frames of unknown types", kind: .ignoredBytes, beginning: [],
            round: { _ in Wire.frame(0xfe, 0, 0, [UInt8](repeating: 0, count: 16_384)) }, allowed: 127),
        Flood(
            role: .client, name: "CONTINUATION", kind: .continuations,
            beginning: Wire.headers(1, status, endHeaders: false), round: { _ in Wire.frame(9, 0, 1) }, allowed: 8),
    ]
}

struct FloodTests {
    /// A side that is flooded. A client has begun a request on the stream 1.
    private func side(_ role: Role, _ limits: EndpointLimits = EndpointLimits()) throws -> Side {
        guard role == .client else { return Side.server(limits) }
        let client = Side.client(limits)
        _ = try client.open()
        _ = client.output()
        return client
    }

    private func events(_ flood: Flood, round: Int, _ side: Side) throws -> [String] {
        if flood.role == .client, flood.kind == .resets { _ = try side.open() }
        return side.receive(flood.round(UInt32(round)))
    }

    @Test(arguments: Flood.all) func `A flood ends the connection`(_ flood: Flood) throws {
        var limits = EndpointLimits()
        limits.maxUnsentReplies = 100_000
        let side = try side(flood.role, limits)
        _ = side.receive(flood.beginning)
        var rounds = 0
        var last: String?
        while rounds < 10_000, last == nil {
            last = try events(flood, round: rounds, side).last { $0.hasPrefix("failed") }
            rounds += 1
        }
        #expect(last == "failed flood \(flood.kind.rawValue)")
        #expect(rounds > flood.allowed)
        #expect(side.output().last == "GOAWAY \(side.lastProcessedStream) 11")
    }

    @Test(arguments: Flood.all.filter { ![.continuations].contains($0.kind) })
    func `The same frames at a moderate rate are served`(_ flood: Flood) throws {
        let side = try side(flood.role)
        _ = side.receive(flood.beginning)
        for round in 0..<3_000 {
            side.now += 1_100_000_000
            let events = try events(flood, round: round, side)
            _ = side.output()
            guard events.last?.hasPrefix("failed") == true else { continue }
            Issue.record("\(events) in round \(round)")
            return
        }
    }

    @Test(arguments: [Role.server, .client]) func `Entries of one SETTINGS are limited`(_ role: Role) throws {
        let side = try side(role)
        #expect(side.receive(Wire.settings((0..<32).map { _ in (3, 1) })) == ["settings"])
        #expect(side.receive(Wire.settings((0..<33).map { _ in (3, 1) })) == ["failed flood SETTINGS entries"])
    }

    @Test(arguments: [Role.server, .client])
    func `Answers that the peer does not read are limited`(_ role: Role) throws {
        var limits = EndpointLimits()
        limits.maxUnsentReplies = 150
        let side = try side(role, limits)
        for _ in 0..<150 { #expect(side.receive(Wire.ping()) == ["ping 7"]) }
        #expect(side.receive(Wire.ping()) == ["failed flood unread answers"])
    }

    @Test func `The bytes of a field block are limited, whatever the size of a frame is`() {
        var limits = EndpointLimits()
        // Eight CONTINUATION frames of 16 KiB cannot exceed the limit.
        limits.maxFrameBytes = 147_456
        let server = Side.server(limits)
        let block = [UInt8](repeating: 0, count: 147_455)
        #expect(server.receive(Wire.frame(1, 1, 1, block)) == [])
        #expect(server.receive(Wire.frame(9, 0, 1, [0])) == [])
        #expect(server.receive(Wire.frame(9, 0, 1, [0])) == ["failed flood CONTINUATION"])
    }

    @Test(arguments: [Role.server, .client])
    func `An HPACK bomb ends the connection before it is unpacked`(_ role: Role) throws {
        let side = try side(role)
        if role == .client { _ = try side.open() }
        let fields = Wire.block(role == .server ? Wire.get : [(":status", "200")])
        // An entry of 4,000 bytes enters the table; then one byte stands for each copy.
        let large = [0x40] + Wire.text("a") + [0x7f, 0x81, 0x1e] + [UInt8](repeating: 0x62, count: 4_000 - 32)
        _ = side.receive(Wire.frame(1, 5, 1, fields + large))
        let events = side.receive(Wire.frame(1, 5, 3, fields + [UInt8](repeating: 0xbe, count: 10_000)))
        #expect(events == ["failed flood header bytes"])
        #expect(side.list.bytes.capacity < 100_000)
    }

    @Test func `A list that is too large is told, and the fields beyond the limit are left out`() {
        let server = Side.server()
        let long = String(repeating: "v", count: 100)
        let fields = Wire.get + (0..<70).map { ("a\($0)", long) }
        #expect(server.receive(Wire.headers(1, fields)) == ["too large 1 end"])
        #expect(server.list.bytes.count < 8_000)
        server.respond(1, [(":status", "431")])
        #expect(server.queued() == ["closed 1 NO_ERROR"])
    }

    @Test func `Requests that were under way when GOAWAY was sent are no flood`() {
        let server = Side.server()
        server.endpoint.goAway(lastStream: .connection, .noError)
        for number in 0..<700 as Range<UInt32> {
            let stream = 2 * number + 1
            let request = Wire.headers(stream, Wire.post, endStream: false) + Wire.data(stream, "a")
            #expect(server.receive(request + Wire.data(stream, "", endStream: true)) == [])
        }
    }

    @Test func `More requests after GOAWAY than can have been under way are a flood`() {
        let server = Side.server()
        server.endpoint.goAway(lastStream: .connection, .noError)
        var last: String?
        for number in 0..<10_000 as Range<UInt32> where last == nil {
            let stream = 2 * number + 1
            let request = Wire.headers(stream, Wire.post, endStream: false) + Wire.data(stream, "a")
            last = server.receive(request).last { $0.hasPrefix("failed") }
            _ = server.output()
        }
        #expect(last == "failed flood idle frames")
    }

    @Test func `Interim responses before one response are limited`() throws {
        let client = Side.client()
        let stream = try client.open()
        let interim = Wire.headers(stream, [(":status", "103")], endStream: false)
        var rounds = 0
        var last: String?
        while rounds < 10_000, last == nil {
            last = client.receive(interim).last { $0.hasPrefix("failed") }
            rounds += 1
        }
        #expect(last == "failed flood idle frames")
        #expect(rounds > 2_000)
    }

    @Test func `A client's own requests allow the frames that belong to them`() throws {
        let client = Side.client()
        for _ in 0..<3_000 {
            let stream = try client.open()
            _ = client.output()
            let answer = Wire.headers(stream, [(":status", "200")])
            let frames = Wire.windowUpdate(0, 1) + answer + Wire.reset(stream, 0)
            #expect(client.receive(frames).last?.hasPrefix("failed") != true)
        }
    }

    @Test func `Zero windows hold back content, and nothing is kept for it`() {
        let server = Side.server()
        _ = server.receive(Wire.settings([(4, 0)]))
        for stream in stride(from: UInt32(1), to: 2_001, by: 2) {
            _ = server.receive(Wire.headers(stream, Wire.get))
            server.respond(stream, [(":status", "200")], endStream: false)
            #expect(server.send(1_000, on: stream, endStream: true) == 0)
            _ = server.output()
        }
        #expect(server.openStreams == 1_000)
        #expect(server.takeOutput().isEmpty)
    }

    @Test func `Honest clients are served: reading data allows the windows that go with it`() {
        let server = Side.server()
        for stream in stride(from: UInt32(1), to: 10_001, by: 2) {
            _ = server.receive(Wire.headers(stream, Wire.get))
            server.respond(stream, [(":status", "200")], endStream: false)
            #expect(server.send(1_000, on: stream, endStream: true) == 1_000)
            _ = server.output()
            let frames = Wire.windowUpdate(0, 1_000) + Wire.windowUpdate(stream, 1_000)
            #expect(server.receive(frames).last?.hasPrefix("failed") != true)
        }
    }
}
