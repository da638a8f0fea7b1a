import HTTP2Core
import Testing

/// A flood: frames that cost the peer little and us much (RFC 9113, 10.5).
struct Flood: Sendable, CustomTestStringConvertible {
    let name: String
    let kind: FloodKind
    /// What comes first.
    let beginning: [UInt8]
    /// One round of the flood; the number is the round's.
    let round: @Sendable (UInt32) -> [UInt8]
    /// How many rounds are allowed at once, at least.
    let allowed: Int

    var testDescription: String { name }

    private static let open = Wire.headers(1, Wire.post, endStream: false)
    private static func stream(_ round: UInt32) -> UInt32 { 2 * round + 3 }

    static let all: [Flood] = [
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
            name: "Trailers of closed streams", kind: .idleFrames, beginning: open + Wire.reset(1),
            round: { _ in Wire.headers(1, [("a", "b")]) }, allowed: 1_990),
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
}

struct FloodTests {
    @Test(arguments: Flood.all) func `A flood ends the connection`(_ flood: Flood) {
        var limits = EndpointLimits()
        limits.maxUnsentReplies = 100_000
        let server = Side.server(limits)
        _ = server.receive(flood.beginning)
        var rounds = 0
        var last: String?
        while rounds < 10_000, last == nil {
            last = server.receive(flood.round(UInt32(rounds))).last { $0.hasPrefix("failed") }
            rounds += 1
        }
        #expect(last == "failed flood \(flood.kind.rawValue)")
        #expect(rounds > flood.allowed)
        #expect(server.output().last == "GOAWAY \(server.lastProcessedStream) 11")
    }

    @Test(arguments: Flood.all.filter { ![.continuations].contains($0.kind) })
    func `The same frames at a moderate rate are served`(_ flood: Flood) {
        let server = Side.server()
        _ = server.receive(flood.beginning)
        for round in 0..<3_000 {
            server.now += 1_100_000_000
            let events = server.receive(flood.round(UInt32(round)))
            _ = server.output()
            guard events.last?.hasPrefix("failed") == true else { continue }
            Issue.record("\(events) in round \(round)")
            return
        }
    }

    @Test func `Entries of one SETTINGS are limited`() {
        let server = Side.server()
        #expect(server.receive(Wire.settings((0..<32).map { _ in (3, 1) })) == ["settings"])
        #expect(server.receive(Wire.settings((0..<33).map { _ in (3, 1) })) == ["failed flood SETTINGS entries"])
    }

    @Test func `Answers that the peer does not read are limited`() {
        var limits = EndpointLimits()
        limits.maxUnsentReplies = 150
        let server = Side.server(limits)
        _ = server.output()
        for _ in 0..<150 { #expect(server.receive(Wire.ping()) == ["ping 7"]) }
        #expect(server.receive(Wire.ping()) == ["failed flood unread answers"])
    }

    @Test func `An HPACK bomb ends the connection before it is unpacked`() {
        let server = Side.server()
        // An entry of 4,000 bytes enters the table; then one byte stands for each copy.
        let large = [0x40] + Wire.text("a") + [0x7f, 0x81, 0x1e] + [UInt8](repeating: 0x62, count: 4_000 - 32)
        let block = Wire.block(Wire.get) + large
        _ = server.receive(Wire.frame(1, 5, 1, block))
        let bomb = Wire.block(Wire.get) + [UInt8](repeating: 0xbe, count: 10_000)
        let events = server.receive(Wire.frame(1, 5, 3, bomb))
        #expect(events == ["failed flood header bytes"])
        #expect(server.list.bytes.capacity < 100_000)
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
