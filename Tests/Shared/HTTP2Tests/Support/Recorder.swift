import HTTP2
import NIOCore

/// An application that records its calls and answers as a test wants.
final class Recorder: HTTP2Application {
    enum Event: Equatable {
        case active
        case headersBegan(UInt32)
        case header(UInt32, String, String)
        case headersEnded(UInt32, endStream: Bool)
        case headersTooLarge(UInt32)
        case data(UInt32, String)
        case bodyTooLarge(UInt32)
        case ended(UInt32)
        case closed(UInt32, HTTP2ErrorCode)
        case writable(UInt32)
        case pong(UInt64)
        case settings(maxConcurrentStreams: Int?)
        case goAway(UInt32, HTTP2ErrorCode, String)
        case batchEnded
        case over(String)
    }

    private(set) var events: [Event] = []
    /// The encodings of all fields.
    private(set) var forms: [FieldForm] = []
    private(set) var priorities: [UInt32] = []
    private(set) var session: HTTP2Session?
    /// Called on each event.
    var on: (HTTP2Session, Event) -> Void = { _, _ in }
    var answersTooLargeHeaders = false
    var answersTooLargeBodies = false

    private func record(_ event: Event) {
        events.append(event)
        if let session { on(session, event) }
    }

    /// The events of the wanted kinds.
    func events(_ isWanted: (Event) -> Bool) -> [Event] { events.filter(isWanted) }

    var closed: [Event] { events { if case .closed = $0 { true } else { false } } }
    var requests: [UInt32] { events.compactMap { if case .headersBegan(let stream) = $0 { stream } else { nil } } }
    var headerNames: [String] { events.compactMap { if case .header(_, let name, _) = $0 { name } else { nil } } }
    var over: [String] { events.compactMap { if case .over(let end) = $0 { end } else { nil } } }

    func sessionBecameActive(_ session: HTTP2Session) {
        self.session = session
        record(.active)
    }
    func fieldsReceived(_ stream: StreamID, _ fields: FieldList, endStream: Bool) {
        record(stream, fields)
        record(.headersEnded(stream.rawValue, endStream: endStream))
    }
    private func record(_ stream: StreamID, _ fields: FieldList) {
        record(.headersBegan(stream.rawValue))
        fields.forEach { name, value, form in
            forms.append(form)
            record(.header(stream.rawValue, text(name), text(value)))
        }
    }
    func malformedRequest(_ stream: StreamID, error: HTTP2ErrorCode, rule: String) {
        record(.headersBegan(stream.rawValue))
        record(.closed(stream.rawValue, error))
    }
    func priorityReceived(_ stream: StreamID) { priorities.append(stream.rawValue) }
    func fieldsTooLarge(_ stream: StreamID, _ fields: FieldList) -> Bool {
        record(stream, fields)
        record(.headersTooLarge(stream.rawValue))
        return answersTooLargeHeaders
    }
    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) { record(.data(stream.rawValue, text(bytes))) }
    func bodyTooLarge(_ stream: StreamID) -> Bool {
        record(.bodyTooLarge(stream.rawValue))
        return answersTooLargeBodies
    }
    func streamEnded(_ stream: StreamID) { record(.ended(stream.rawValue)) }
    func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) { record(.closed(stream.rawValue, error)) }
    func writable(_ stream: StreamID) { record(.writable(stream.rawValue)) }
    func pingAcknowledged(_ payload: UInt64) { record(.pong(payload)) }
    func settingsReceived(_ settings: PeerSettings) {
        record(.settings(maxConcurrentStreams: settings.maxConcurrentStreams))
    }
    func goAwayReceived(lastStream: StreamID, error: HTTP2ErrorCode, debugData: Span<UInt8>) {
        record(.goAway(lastStream.rawValue, error, text(debugData)))
    }
    func batchEnded() { record(.batchEnded) }
    func sessionClosed(_ end: SessionEnd) {
        record(.over(end.description))
        session = nil
    }

    private func text(_ bytes: Span<UInt8>) -> String {
        bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}

extension FieldList {
    static func status(_ status: String) -> FieldList {
        var block = FieldList()
        block.append(":status", status)
        return block
    }

    static func post(_ path: String, authority: String = "localhost") -> FieldList {
        var block = FieldList()
        block.append(":method", "POST")
        block.append(":scheme", "https")
        block.append(":authority", authority)
        block.append(":path", path)
        return block
    }
}
