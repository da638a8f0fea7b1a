@testable import HTTP2Core

/// A step of a session.
enum Step {
    /// The peer sends a frame, or a field block of several frames.
    case frame([UInt8])
    /// Our side begins a request.
    case open([(String, String)], endStream: Bool)
    /// Our side sends content.
    case send(Int, on: UInt32, endStream: Bool)
    /// Our side resets a stream.
    case reset(UInt32)

    var isFrame: Bool { if case .frame = self { true } else { false } }
}

/// Makes random sessions: what a client sends to a server, and in `ServerSessionGenerator.swift` what happens on a
/// client's side. The same seed makes the same session.
struct SessionGenerator {
    var random: SeededRandom
    private var encoder = FieldEncoder(maximumTableBytes: 4_096)
    var nextStream: UInt32 = 1
    /// The streams whose requests have not ended.
    private var open: [UInt32] = []
    /// The content that is missing by content-length, by stream.
    private var missing: [UInt32: Int] = [:]

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &random)]
    }
    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0x61...0x7a, using: &random) }
    }

    /// The number of steps at the beginning of a session that mutations keep.
    private static let kept = 4

    /// Opens the connection's window so far that only the windows of streams hold content back. Otherwise both would
    /// divide it among the streams in their own way.
    static let openedConnection = Wire.windowUpdate(0, 1 << 30)

    /// The peer's first SETTINGS: none, or a window and the size of its table for what our side sends.
    mutating func firstSettings() -> [UInt8] {
        Wire.settings(chance(50) ? [] : [(4, 70_000), (1, pick([0, 100, 4_096]))])
    }

    /// A valid session of a client.
    mutating func session() -> [Step] {
        var frames = [
            Wire.preface, firstSettings(), Wire.settingsAck,
            Self.openedConnection,
        ]
        for _ in 0..<Int.random(in: 5...40, using: &random) { frames += step() }
        return frames.map { .frame($0) }
    }

    /// A stream that was opened, or skipped.
    private mutating func anyStream() -> UInt32 {
        UInt32.random(in: 0..<max(1, nextStream / 2), using: &random) * 2 + 1
    }

    private mutating func step() -> [[UInt8]] {
        let stream = open.isEmpty ? 0 : pick(open)
        switch Int.random(in: 0..<12, using: &random) {
        case 0...4: return request()
        case 5...7 where stream != 0: return content(stream)
        case 8 where stream != 0: return trailers(stream)
        case 9 where stream != 0 && chance(30):
            open.removeAll { $0 == stream }
            return [Wire.reset(stream, UInt32.random(in: 0...13, using: &random))]
        case 9: return [Wire.ping()]
        case 10 where nextStream > 1 && chance(60):
            return [Wire.windowUpdate(anyStream(), UInt32.random(in: 1...40_000, using: &random))]
        case 10: return [Wire.windowUpdate(0, UInt32.random(in: 1...1_000, using: &random))]
        case 11 where chance(20): return [Wire.settings([(4, UInt32.random(in: 0...100_000, using: &random))])]
        case 11 where chance(50): return [Wire.frame(UInt8.random(in: 0x20...0x80, using: &random), 0, 0, bytes(9))]
        default: return [Wire.frame(Wire.priority, 0, nextStream, [0, 0, 0, 0, 7])]
        }
    }

    mutating func form() -> FieldForm { pick([.indexed, .incremental, .withoutIndexing, .neverIndexed]) }

    private mutating func request() -> [[UInt8]] {
        // Sometimes a number is skipped.
        let stream = nextStream + (chance(10) ? 2 : 0)
        nextStream = stream + 2
        let ends = chance(40)
        let isOptions = ends && chance(20)
        var list = FieldList()
        func add(_ name: String, _ value: [UInt8], _ form: FieldForm) {
            list.append(Array(name.utf8).span, value.span, form)
        }
        add(":method", Array((isOptions ? "OPTIONS" : ends ? "GET" : "POST").utf8), form())
        add(":scheme", Array("https".utf8), form())
        let path = Array("/3/device/".utf8) + bytes(Int.random(in: 0...64, using: &random))
        add(":path", isOptions && chance(50) ? Array("*".utf8) : path, form())
        add(":authority", Array("example.com".utf8), form())
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            let name = pick(["apns-id", "apns-topic", "authorization", "user-agent", "cookie", "x-a", "x-b"])
            add(name, bytes(Int.random(in: 0...40, using: &random)), form())
        }
        // Each is the host of :authority (RFC 9113, 8.3.1; RFC 3986, 6.2).
        if chance(20) { add("host", Array(pick(["example.com", "EXAMPLE.com", "example.com:443"]).utf8), form()) }
        if chance(20) { add("te", Array("trailers".utf8), form()) }
        if chance(30) {
            let count = ends ? 0 : Int.random(in: 0...900, using: &random)
            add("content-length", Array(String(count).utf8), form())
            missing[stream] = count
        }
        if !ends { open.append(stream) }
        return block(list, stream, endStream: ends)
    }

    private mutating func trailers(_ stream: UInt32) -> [[UInt8]] {
        if let rest = missing[stream], rest > 0 { return content(stream) }
        open.removeAll { $0 == stream }
        var list = FieldList()
        list.append(Array("x-trailer".utf8).span, bytes(5).span, form())
        return block(list, stream, endStream: true)
    }

    /// HEADERS with or without padding and priority, in one frame or more.
    mutating func block(_ list: FieldList, _ stream: UInt32, endStream: Bool) -> [[UInt8]] {
        var block: [UInt8] = []
        encoder.encode(list, to: &block)
        var flags = endStream ? Wire.endStream : 0
        var before: [UInt8] = []
        var after: [UInt8] = []
        if chance(20) {
            let count = Int.random(in: 0...20, using: &random)
            flags |= Wire.padded
            before.append(UInt8(count))
            after = [UInt8](repeating: 0, count: count)
        }
        if chance(20) {
            flags |= Wire.hasPriority
            before += [0, 0, 0, 0, 15]
        }
        let parts = chance(25) ? Int.random(in: 2...5, using: &random) : 1
        let size = max(1, block.count / parts)
        var pieces = stride(from: 0, to: block.count, by: size).map { Array(block[$0..<min($0 + size, block.count)]) }
        if pieces.isEmpty { pieces = [[]] }
        var frame: [UInt8] = []
        for (index, piece) in pieces.enumerated() {
            let end = index == pieces.count - 1 ? Wire.endHeaders : 0
            frame +=
                index == 0
                ? Wire.frame(Wire.headers, flags | end, stream, before + piece + after)
                : Wire.frame(Wire.continuation, end, stream, piece)
        }
        return [frame]
    }

    private mutating func content(_ stream: UInt32) -> [[UInt8]] {
        var ends = chance(50)
        var count = Int.random(in: ends ? 0...600 : 1...600, using: &random)
        if let rest = missing[stream] {
            count = min(max(1, count), rest)
            missing[stream] = rest - count
            // When no content is missing, only an empty frame that ends the stream can follow.
            ends = count == rest && (ends || rest == 0)
        }
        if ends { open.removeAll { $0 == stream } }
        return data(bytes(count), stream, ends)
    }

    /// DATA with or without padding.
    mutating func data(_ content: [UInt8], _ stream: UInt32, _ ends: Bool) -> [[UInt8]] {
        guard chance(25) else { return [Wire.frame(Wire.data, ends ? 1 : 0, stream, content)] }
        let count = Int.random(in: 0...30, using: &random)
        let payload = [UInt8(count)] + content + [UInt8](repeating: 0, count: count)
        return [Wire.frame(Wire.data, Wire.padded | (ends ? 1 : 0), stream, payload)]
    }

    // MARK: Mutations

    /// A session with some mistakes of the peer. Each frame keeps a length that fits its payload.
    mutating func mutated(_ session: [Step]) -> [Step] {
        var steps = session
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let frames = steps.indices.filter { $0 >= Self.kept && steps[$0].isFrame }
            guard frames.count > 1 else { break }
            let index = pick(frames)
            guard case .frame(let bytes) = steps[index] else { continue }
            switch Int.random(in: 0..<8, using: &random) {
            case 0: steps.insert(steps[index], at: index)
            case 1: steps.remove(at: index)
            case 2: steps.swapAt(index, pick(frames))
            default: steps[index] = .frame(changed(bytes))
            }
        }
        return steps
    }

    private mutating func changed(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes[4] ^= 1 << UInt8.random(in: 0...7, using: &random)
        case 1: bytes[3] = UInt8.random(in: 0...10, using: &random)
        case 2: bytes.replaceSubrange(5..<9, with: Wire.word(UInt32.random(in: 0...nextStream, using: &random)))
        case 3: return resized(bytes)
        default:
            guard bytes.count > 9 else { break }
            bytes[Int.random(in: 9..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        return bytes
    }

    /// The first frame with more or fewer bytes.
    private mutating func resized(_ bytes: [UInt8]) -> [UInt8] {
        let length = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
        guard bytes.count >= 9 + length else { return bytes }
        var payload = Array(bytes[9..<9 + length])
        if chance(50), !payload.isEmpty {
            payload.removeLast(Int.random(in: 1...payload.count, using: &random))
        } else {
            payload += self.bytes(Int.random(in: 1...5, using: &random))
        }
        return Array(Wire.word(UInt32(payload.count)).dropFirst()) + Array(bytes[3..<9]) + payload
            + Array(bytes[(9 + length)...])
    }
}
