@testable import HTTP2Core

/// What one side said and sent after a step.
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

/// Feeds the same frames to both sides, and lets both send the same.
final class Pair {
    typealias Result = (comparison: Comparison, isEnd: Bool)

    private let side: Side
    private let library: LibrarySide
    private var ourBlocks = SentBlocks()
    private var libraryBlocks = SentBlocks()
    /// The content that our side has to send, by stream. libnghttp2 asks for it.
    private var bodies: [UInt32: OutgoingBody] = [:]

    init(_ role: Role = .server) {
        side = Side(role)
        library = LibrarySide(role)
        _ = side.output()
    }

    /// libnghttp2 reads nothing more.
    var isFinished: Bool { library.isFinished }

    /// - Returns: nil if the step is not possible, because the session has gone another way than it was planned.
    func step(_ step: Step) -> Result? {
        switch step {
        case .frame(let frame): receive(frame)
        case .open(let fields, let endStream): open(fields, endStream: endStream)
        case .send(let count, let stream, let endStream): send(count, on: stream, endStream: endStream)
        case .reset(let stream): reset(stream)
        }
    }

    func receive(_ frame: [UInt8]) -> Result {
        var ours = Verdict()
        let isFinished = library.isFinished
        var position = 0
        while let event = side.endpoint.next(frame.span, at: &position, now: side.now) { ours.add(event, frame, side) }
        library.receive(frame)
        return compare(ours, frame, isFinished)
    }

    /// Answers a request on both sides.
    func respond(_ stream: UInt32, content: Int?) -> Result {
        let fields = [(":status", "200"), ("apns-id", "\(stream)")]
        side.respond(stream, fields, endStream: content == nil)
        library.respond(stream, fields, endStream: content == nil)
        guard let content else { return compare(Verdict()) }
        bodies[stream] = OutgoingBody()
        return send(content, on: stream, endStream: true)
    }

    func open(_ fields: [(String, String)], endStream: Bool) -> Result? {
        guard side.availableStreams > 0, let stream = try? side.open(fields, endStream: endStream) else { return nil }
        if !endStream { bodies[stream] = OutgoingBody() }
        library.open(fields, endStream: endStream)
        return compare(Verdict(events: ["opened \(stream)"]))
    }

    func send(_ count: Int, on stream: UInt32, endStream: Bool) -> Result {
        bodies[stream]?.add(count, endStream: endStream)
        library.send(count, on: stream, endStream: endStream)
        return compare(Verdict())
    }

    private func reset(_ stream: UInt32) -> Result? {
        guard side.isOpen(stream) else { return nil }
        side.endpoint.reset(StreamID(stream), .cancel)
        library.reset(stream, ErrorCode.cancel.rawValue)
        return compare(Verdict())
    }

    private func compare(_ verdict: Verdict, _ frame: [UInt8] = [], _ isFinished: Bool = false) -> Result {
        var (ours, theirs) = (verdict, Verdict())
        let output = takeOutput()
        ours.sent = Verdict.sent(output) + ourBlocks.decode(output, after: frame)
        while let event = side.endpoint.nextQueued() { ours.add(event, [], side) }
        // The library reports a stream's end when it has sent RST_STREAM.
        let libraryOutput = library.output()
        theirs.sent = Verdict.sent(libraryOutput) + libraryBlocks.decode(libraryOutput, after: frame)
        theirs.events = library.events
        ours.normalize()
        theirs.normalize()
        let isWaiting = side.endpoint.block != nil || !side.endpoint.pending.isEmpty
        let comparison = Comparison(
            frame: frame, ours: ours, library: theirs, isWaiting: isWaiting, isFinished: isFinished)
        return (comparison, ours.isFailure || theirs.isFailure)
    }

    /// Our output, with as much content as the windows allow.
    private func takeOutput() -> [UInt8] {
        var output = side.takeOutput()
        while sendBodies() { output += side.takeOutput() }
        return output
    }

    /// - Returns: whether anything was sent.
    private func sendBodies() -> Bool {
        var isSent = false
        for stream in bodies.keys.sorted() {
            guard let body = bodies[stream], body.count > 0 || body.isEnded else { continue }
            guard let taken = side.send(body.count, on: stream, endStream: body.isEnded) else {
                bodies[stream] = nil
                continue
            }
            isSent = isSent || taken > 0 || body.count == 0
            if bodies[stream]?.take(taken)?.isEnd == true { bodies[stream] = nil }
        }
        return isSent
    }
}

extension Verdict {
    /// The frames that both have to send, and the content of each stream, which may be divided into other frames.
    /// Windows may be opened at other times, and GOAWAY may have other data.
    static func sent(_ bytes: [UInt8]) -> [String] {
        var content: [Substring: Int] = [:]
        var frames: [String] = []
        for frame in Wire.describe(bytes) {
            let words = frame.split(separator: " ")
            switch words[0] {
            case "WINDOW_UPDATE": break
            case "GOAWAY": frames.append("GOAWAY \(words[words.count - 1])")
            case "DATA":
                content[words[1], default: 0] += Int(words[2]) ?? 0
                if words.count > 3 { frames.append("end of DATA \(words[1])") }
            default: frames.append(frame)
            }
        }
        return frames + content.map { "DATA \($0.key) \($0.value)" }
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
            events.append("fields of \(stream) are too large")
            end(stream, isEnd)
        // The library does not tell of these.
        case .ignoredFields, .ignoredData: break
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
        case .interimResponse(let stream): events.append("interim \(stream) \(side.fields)")
        case .response(let stream, let isEnd):
            events.append("response \(stream) \(side.fields)")
            end(stream, isEnd)
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
