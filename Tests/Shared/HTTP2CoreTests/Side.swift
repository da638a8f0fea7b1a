@testable import HTTP2Core

/// An endpoint whose events become short texts.
final class Side {
    var endpoint: HTTP2Endpoint
    /// The time in nanoseconds.
    var now: UInt64 = 1_000_000_000

    init(_ role: Role, _ limits: EndpointLimits = EndpointLimits()) {
        endpoint = HTTP2Endpoint(role: role, limits: limits)
    }

    /// A server that has got the client's preface and the acknowledgement of its SETTINGS. Its output is empty.
    static func server(_ limits: EndpointLimits = EndpointLimits()) -> Side {
        let side = Side(.server, limits)
        _ = side.receive(Wire.preface + Wire.settings() + Wire.settingsAck)
        _ = side.output()
        return side
    }

    /// A client that has got the server's SETTINGS and acknowledgement. Its output is empty.
    static func client(_ limits: EndpointLimits = EndpointLimits()) -> Side {
        let side = Side(.client, limits)
        _ = side.receive(Wire.settings() + Wire.settingsAck)
        _ = side.output()
        return side
    }

    /// Passes bytes to the endpoint, and returns its events.
    func receive(_ bytes: [UInt8]) -> [String] {
        var events: [String] = []
        var position = 0
        while let event = endpoint.next(bytes.span, at: &position, now: now) {
            events.append(describe(event, bytes))
        }
        return events
    }

    /// The events that sending has caused.
    func queued() -> [String] {
        var events: [String] = []
        while let event = endpoint.nextQueued() { events.append(describe(event, [])) }
        return events
    }

    /// Takes the output, as short texts.
    func output() -> [String] { Wire.describe(takeOutput()) }

    func takeOutput() -> [UInt8] {
        let bytes = endpoint.output
        endpoint.outputTaken()
        return bytes
    }

    func open(_ fields: [(String, String)] = Wire.get, endStream: Bool = true) throws -> UInt32 {
        try endpoint.open(Self.list(fields), endStream: endStream).rawValue
    }

    @discardableResult
    func respond(_ stream: UInt32, _ fields: [(String, String)], endStream: Bool = true) -> String {
        switch endpoint.sendFields(Self.list(fields), endStream: endStream, on: StreamID(stream)) {
        case .sent: "sent"
        case .closed: "closed"
        case .malformed(let fault): "malformed (\(fault.section))"
        }
    }

    @discardableResult
    func send(_ count: Int, on stream: UInt32, endStream: Bool = false) -> Int? {
        let bytes = [UInt8](repeating: 0x61, count: count)
        return endpoint.sendData(bytes.span, endStream: endStream, on: StreamID(stream))
    }

    static func list(_ fields: [(String, String)], _ form: FieldForm = .incremental) -> FieldList {
        var list = FieldList()
        for (name, value) in fields { list.append(Array(name.utf8).span, Array(value.utf8).span, form) }
        return list
    }

    /// The fields of the last event, as "name=value".
    var fields: String {
        var texts: [String] = []
        endpoint.fields.forEach { name, value, _ in texts.append(Self.text(name) + "=" + Self.text(value)) }
        return texts.joined(separator: " ")
    }

    static func text(_ bytes: Span<UInt8>) -> String {
        String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }

    private func describe(_ event: Event, _ bytes: [UInt8]) -> String {
        func end(_ isEnd: Bool) -> String { isEnd ? " end" : "" }
        return switch event {
        case .request(let stream, let isEnd): "request \(stream)\(end(isEnd)) \(fields)"
        case .interimResponse(let stream): "interim \(stream) \(fields)"
        case .response(let stream, let isEnd): "response \(stream)\(end(isEnd)) \(fields)"
        case .trailers(let stream): "trailers \(stream) \(fields)"
        case .fieldsTooLarge(let stream, let isEnd): "too large \(stream)\(end(isEnd))"
        case .data(let stream, let range, let isEnd):
            "data \(stream)\(end(isEnd)) " + String(decoding: bytes[range], as: UTF8.self)
        case .closed(let stream, let code, let fault):
            "closed \(stream) \(code)" + (fault.map { " (\($0.section))" } ?? "")
        case .refused(let stream, let fault): "refused \(stream) \(fault.code) (\(fault.section))"
        case .ignoredFields(let stream, let isEnd): "ignored \(stream)\(end(isEnd)) \(fields)"
        case .ignoredData(let stream, let range, let isEnd):
            "ignored data \(stream)\(end(isEnd)) " + String(decoding: bytes[range], as: UTF8.self)
        case .settings: "settings"
        case .settingsAcknowledged: "settings acknowledged"
        case .ping(let payload): "ping \(payload)"
        case .pingAcknowledged(let payload): "ping acknowledged \(payload)"
        case .goAway(let last, let code, let debugData):
            "goaway \(last) \(code) " + String(decoding: debugData, as: UTF8.self)
        case .windowUpdate(let stream): "window \(stream)"
        case .priority(let stream): "priority \(stream)"
        case .failed(let fault):
            fault.flood.map { "failed flood \($0.rawValue)" } ?? "failed \(fault.code) (\(fault.section))"
        }
    }
}

extension Side {
    /// Skips a client's stream numbers.
    func skipNumbers(to number: UInt32) { endpoint.nextStream = number }

    /// The capacity of all buffers that are not the dynamic tables.
    var heldCapacity: Int {
        endpoint.pending.capacity + endpoint.writer.bytes.capacity + endpoint.scratch.capacity
            + endpoint.fields.bytes.capacity + endpoint.fields.entries.capacity + endpoint.streams.capacity
            + (endpoint.block?.bytes.capacity ?? 0) + endpoint.decoder.knownCapacity
    }

    var knownCapacity: Int { endpoint.decoder.knownCapacity }
    var outputCapacity: Int { endpoint.writer.bytes.capacity }
    /// The number of slots for streams.
    var streamCapacity: Int { endpoint.streams.capacity }
    /// The bytes that the decoder's table has allocated for names and values.
    var receivingTableCapacity: Int { endpoint.decoder.tableCapacity }

    /// The bytes that both tables have allocated for names and values.
    var tableCapacity: Int { endpoint.decoder.tableCapacity + endpoint.encoder.tableCapacity }

    /// The bytes in both dynamic tables, as RFC 7541 counts them (4.1).
    var tableBytes: Int { endpoint.decoder.tableBytes + endpoint.encoder.tableBytes }
}

// The macros of swift-testing cannot look into a value that is not copyable.
extension Side {
    var openStreams: Int { endpoint.openStreams }
    func isOpen(_ stream: UInt32) -> Bool { endpoint.streams.contains(StreamID(stream)) }
    var availableStreams: Int { endpoint.availableStreams }
    var isFinished: Bool { endpoint.isFinished }
    var hasFailed: Bool { endpoint.failure != nil }
    var hasReceivedSettings: Bool { endpoint.hasReceivedSettings }
    var lastAcceptedStream: StreamID? { endpoint.lastAcceptedStream }
    var peerSettings: Settings { endpoint.peerSettings }
    var lastProcessedStream: StreamID { endpoint.lastProcessedStream }
    /// The fields of the last event that has fields.
    var list: FieldList { endpoint.fields }
}
