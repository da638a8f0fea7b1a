import Testing

@testable import HTTP2Core

/// A difference from libnghttp2 1.52 that is wanted.
struct DeliberateDifference: Sendable, CustomTestStringConvertible {
    let reason: String
    /// What a client sends after its preface, so that the difference shows with the last frame.
    let example: [[UInt8]]
    let explains: @Sendable (Comparison) -> Bool

    var testDescription: String { reason }

    private static func get(_ name: String, _ value: String) -> [UInt8] {
        Wire.headers(1, Wire.get + [(name, value)])
    }
    private static let get = Wire.headers(1, Wire.get)
    private static let post = Wire.headers(1, Wire.post, endStream: false)

    static let all: [DeliberateDifference] = [
        DeliberateDifference(
            reason: "libnghttp2 does not compare host with :authority, and allows userinfo. 8.3.1 wants both.",
            example: [get("host", "b")]
        ) { $0.ours.faults.contains("RFC 9113, 8.3.1") },
        DeliberateDifference(
            reason: "libnghttp2 allows trailers on a tunnel. 8.5: a stream error.",
            example: [
                Wire.headers(1, [(":method", "CONNECT"), (":authority", "a:1")], endStream: false),
                Wire.headers(1, [("a", "b")]),
            ]
        ) { $0.ours.faults.contains("RFC 9113, 8.5") },
        DeliberateDifference(
            reason: "DATA or HEADERS on a stream that is half-closed (remote) ends libnghttp2's connection. 5.1: a "
                + "stream error.",
            example: [get, Wire.data(1, "a")]
        ) { $0.ours.faults.contains("RFC 9113, 5.1") && $0.ours.says(closed: 5) && $0.library.isFailure },
        DeliberateDifference(
            reason: "An increment of 0 for a stream ends libnghttp2's connection. 6.9: a stream error.",
            example: [get, Wire.windowUpdate(1, 0)]
        ) { $0.ours.faults.contains("RFC 9113, 6.9") && $0.ours.says(closed: 1) && $0.library.isFailure },
        DeliberateDifference(
            reason: "PRIORITY of a wrong length ends libnghttp2's connection. 6.3: a stream error.",
            example: [get, Wire.frame(Wire.priority, 0, 1, [0])]
        ) { $0.ours.faults.contains("RFC 9113, 6.3") && $0.ours.says(closed: 6) && $0.library.isFailure },
        DeliberateDifference(
            reason: "libnghttp2 passes on content that turns out to be less than content-length. We compare first.",
            example: [
                Wire.headers(1, Wire.post + [("content-length", "3")], endStream: false),
                Wire.data(1, "ab", endStream: true),
            ]
        ) { $0.ours.faults.contains("RFC 9113, 8.1.1") && $0.library.says(closed: 1) },
        DeliberateDifference(
            reason: "libnghttp2 refuses a GOAWAY of a client whose last stream is odd. 6.8 has no such rule.",
            example: [Wire.goAway(1)]
        ) { $0.type == Wire.goAway && $0.library.isFailure },
        DeliberateDifference(
            reason:
                "With SETTINGS_NO_RFC7540_PRIORITIES libnghttp2 does not look into PRIORITY. 6.3: the stream 0 is a "
                + "connection error.",
            example: [Wire.frame(Wire.priority, 0, 0, [0, 0, 0, 0, 7])]
        ) { $0.type == Wire.priority && $0.ours.faults.contains("RFC 9113, 6.3") && !$0.library.isFailure },
        DeliberateDifference(
            reason:
                "Both end the connection, with another code, because a frame breaks two rules. 5.4 allows any of them.",
            example: [Wire.frame(Wire.settings, 0, 7, [0])]
        ) { $0.ours.isFailure && $0.library.isFailure },
        DeliberateDifference(
            reason: "libnghttp2 refuses a request that has neither :authority nor host. 8.3.1 requires neither.",
            example: [Wire.headers(1, Wire.get.filter { $0.0 != ":authority" })]
        ) {
            $0.library.says(closed: 1)
                && $0.ours.events.contains {
                    $0.hasPrefix("request") && !$0.contains(" :authority=") && !$0.contains(" host=")
                }
        },
        DeliberateDifference(
            reason:
                "libnghttp2 does not compare the length of CONTINUATION with SETTINGS_MAX_FRAME_SIZE. 4.2: an error.",
            example: [
                Wire.headers(1, Wire.get, endHeaders: false) + Wire.frame(Wire.continuation, 4, 1, length: 16_385)
            ]
        ) { $0.ours.faults.contains("RFC 9113, 4.2") && !$0.library.isFailure },
        DeliberateDifference(
            reason: "libnghttp2 does not look at the padding of DATA that it ignores. 6.1: a connection error.",
            example: [get, Wire.reset(1), Wire.frame(Wire.data, Wire.padded, 1, [9, 0])]
        ) { $0.type == Wire.data && $0.ours.faults.contains("RFC 9113, 6.1") && $0.library == Verdict() },
        DeliberateDifference(
            reason:
                "After GOAWAY and the last stream libnghttp2 reads nothing more. We read on until the caller closes.",
            example: [Wire.goAway(0), Wire.ping()]
        ) { $0.isFinished && $0.library == Verdict() },
        DeliberateDifference(
            reason: "libnghttp2 decodes a field block while it comes. We wait for its end, and say then what is wrong.",
            example: [Wire.frame(Wire.headers, 0, 1, [0x80])]
        ) { $0.isWaiting && $0.ours == Verdict() },
    ]
}

/// What one side said and sent after a frame.
struct Verdict: Sendable, Equatable {
    var events: [String] = []
    var sent: [String] = []
    /// The sections of the rules that were broken.
    var faults: [String] = []

    var isFailure: Bool { events.contains { $0.hasPrefix("failed") } || sent.contains { $0.hasPrefix("GOAWAY") } }

    func says(closed code: Int) -> Bool { events.contains { $0.hasPrefix("closed") && $0.hasSuffix(" \(code)") } }

    func isSame(as other: Verdict) -> Bool {
        if isFailure || other.isFailure { return isFailure == other.isFailure && sent == other.sent }
        return events == other.events && sent == other.sent
    }
}

struct Comparison: Sendable {
    var frame: [UInt8]
    var ours: Verdict
    var library: Verdict
    /// We wait for the rest of a frame or of a field block.
    var isWaiting = false
    /// libnghttp2 reads nothing more.
    var isFinished = false

    var type: UInt8 { frame.count > 3 ? frame[3] : 0xff }
}

/// Feeds the same frames to both sides.
struct Pair {
    private let side = Side(.server)
    private let library = LibrarySide()

    init() { _ = side.output() }

    /// - Returns: nil if both agree and go on; otherwise what they said.
    func step(_ frame: [UInt8]) -> (comparison: Comparison, isEnd: Bool) {
        var (ours, theirs) = (Verdict(), Verdict())
        let isFinished = library.isFinished
        var position = 0
        while let event = side.endpoint.next(frame.span, at: &position, now: side.now) { ours.add(event, frame, side) }
        theirs.events = library.receive(frame)
        ours.sent = Verdict.sent(side.takeOutput())
        theirs.sent = Verdict.sent(library.output())
        // The library reports a stream's end when it has sent RST_STREAM.
        theirs.events = library.events
        ours.normalize()
        theirs.normalize()
        let isEnd = ours.isFailure || theirs.isFailure
        let isWaiting = side.endpoint.block != nil || !side.endpoint.pending.isEmpty
        let comparison = Comparison(
            frame: frame, ours: ours, library: theirs, isWaiting: isWaiting, isFinished: isFinished)
        return (comparison, isEnd)
    }

    /// Answers a request on both sides.
    func respond(_ stream: UInt32) {
        side.respond(stream, [(":status", "200")])
        library.respond(stream)
    }
}

extension Verdict {
    /// The frames that both have to send. Windows may be opened at other times, and GOAWAY may have other data.
    static func sent(_ bytes: [UInt8]) -> [String] {
        Wire.describe(bytes).compactMap { frame in
            if frame.hasPrefix("WINDOW_UPDATE") || frame.hasPrefix("HEADERS") { return nil }
            guard frame.hasPrefix("GOAWAY") else { return frame }
            return "GOAWAY " + (frame.split(separator: " ").last ?? "")
        }
    }

    mutating func add(_ event: Event, _ bytes: [UInt8], _ side: Side) {
        func end(_ stream: StreamID, _ isEnd: Bool) { if isEnd { events.append("end \(stream)") } }
        switch event {
        case .request(let stream, let isEnd):
            events.append("request \(stream) \(side.fields)")
            end(stream, isEnd)
        case .trailers(let stream):
            events.append("trailers \(stream) \(side.fields)")
            end(stream, true)
        case .data(let stream, let range, let isEnd):
            if !range.isEmpty { events.append("data \(stream) " + String(decoding: bytes[range], as: UTF8.self)) }
            end(stream, isEnd)
        case .closed(let stream, let code, let fault):
            events.append("closed \(stream) \(code.rawValue)")
            if let fault { faults.append("\(fault.section)") }
        case .refused(let stream, let fault):
            events.append("closed \(stream) \(fault.code.rawValue)")
            faults.append("\(fault.section)")
        case .fieldsTooLarge(let stream, let isEnd):
            events.append("request \(stream) too large")
            end(stream, isEnd)
        case .settings: events.append("settings")
        case .settingsAcknowledged: events.append("settings acknowledged")
        case .ping: events.append("ping")
        case .pingAcknowledged: events.append("ping acknowledged")
        case .goAway(let last, _, _): events.append("goaway \(last)")
        case .windowUpdate(let stream): events.append("window \(stream)")
        case .priority(let stream): events.append("priority \(stream)")
        case .failed(let fault):
            events.append("failed \(fault.code.rawValue)")
            faults.append("\(fault.section)")
        case .interimResponse, .response: events.append("a server got a response")
        }
    }

    /// The order of events of one frame, and frames without effect, do not matter.
    mutating func normalize() {
        // The library reports WINDOW_UPDATE and PRIORITY for closed streams too. They have no effect.
        events.removeAll { $0.hasPrefix("window") || $0.hasPrefix("priority") }
        events.sort()
        sent.sort()
    }
}

/// The core and libnghttp2 get the same bytes: same events, same verdict.
struct DifferentialTests {
    /// The number of sessions of each run. `script/fuzz` runs more of them.
    private static let sessions = 300

    private func compare(_ frames: [[UInt8]], seed: UInt64) {
        let pair = Pair()
        for (number, frame) in frames.enumerated() {
            let (comparison, isEnd) = pair.step(frame)
            guard comparison.ours.isSame(as: comparison.library) else {
                if DeliberateDifference.all.contains(where: { $0.explains(comparison) }) { return }
                Issue.record(
                    """
                    seed \(seed), frame \(number): \(frame.prefix(120))
                    ours: \(comparison.ours)
                    libnghttp2: \(comparison.library)
                    """)
                return
            }
            if isEnd { return }
        }
    }

    @Test(arguments: DeliberateDifference.all)
    func `A deliberate difference shows with its example`(_ difference: DeliberateDifference) throws {
        let pair = Pair()
        for frame in [Wire.preface, Wire.settings(), Wire.settingsAck] { _ = pair.step(frame) }
        let comparisons = difference.example.map { pair.step($0).comparison }
        let last = try #require(comparisons.last)
        #expect(!last.ours.isSame(as: last.library), "both: \(last.ours)")
        #expect(difference.explains(last), "ours: \(last.ours), libnghttp2: \(last.library)")
    }

    @Test(arguments: 0..<10) func `Valid sessions have the same events`(_ part: UInt64) {
        for number in 0..<UInt64(Self.sessions / 10) {
            let seed = part * 1_000 + number
            var generator = SessionGenerator(seed: seed)
            let frames = generator.session()
            let pair = Pair()
            for (number, frame) in frames.enumerated() {
                let (comparison, _) = pair.step(frame)
                guard comparison.ours == comparison.library else {
                    Issue.record(
                        """
                        seed \(seed), frame \(number): \(frame.prefix(120))
                        ours: \(comparison.ours)
                        libnghttp2: \(comparison.library)
                        """)
                    return
                }
                // Both answer each request that is complete.
                for event in comparison.ours.events where event.hasPrefix("end ") {
                    if let stream = UInt32(event.dropFirst(4)) { pair.respond(stream) }
                }
            }
        }
    }

    @Test(arguments: 0..<20) func `Mutated sessions have the same verdict`(_ part: UInt64) {
        for number in 0..<UInt64(Self.sessions / 10) {
            let seed = 1_000_000 + part * 1_000 + number
            var generator = SessionGenerator(seed: seed)
            compare(generator.mutatedSession(), seed: seed)
        }
    }
}
