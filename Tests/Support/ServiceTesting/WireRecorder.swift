import HTTP2
import NIOCore

/// Records what arrives. Confined to its event loop.
final class WireRecorder: HTTP2Application {
    private var session: HTTP2Session?
    private var answers: [StreamID: (answer: WireClient.Answer, promise: EventLoopPromise<WireClient.Answer>)] = [:]
    private var waiting: [(streams: Int, promise: EventLoopPromise<Void>)] = []
    private let burst: [[(String, String)]]
    private let eventLoop: any EventLoop
    private(set) var burstAnswers: [EventLoopFuture<WireClient.Answer>] = []
    private(set) var announcements: [Int] = []
    private(set) var goAways: [WireClient.GoAway] = []
    private var leaving: [EventLoopPromise<Void>] = []
    /// Those who wait for the acknowledgements of PINGs, which come in their order.
    private var pinging: [EventLoopPromise<Void>] = []
    private var lines: [StreamID: Lines] = [:]

    var isOpen: Bool { session?.isActive == true && goAways.isEmpty }

    /// The part of an answer that was read line by line.
    private struct Lines {
        var waiting: [EventLoopPromise<String?>] = []
        var taken = 0
        /// The whole answer, once it has ended.
        var last = ""
    }

    /// - Parameter literals: the form of fields that stay out of the table.
    init(burst: [[(String, String)]], literals: FieldForm, eventLoop: any EventLoop) {
        self.burst = burst
        self.literals = literals
        self.eventLoop = eventLoop
    }

    private let literals: FieldForm
    /// The names of changing values that are in the header table.
    private var indexed: Set<String> = []

    /// Encodes the fields as the Guide asks (2.3.4.1).
    private func block(_ headers: [(String, String)]) -> FieldList {
        var block = FieldList()
        for (name, value) in headers {
            let form: FieldForm =
                switch name {
                case ":path", "authorization": literals
                case "apns-id", "apns-expiration", "apns-collapse-id":
                    indexed.insert(name).inserted ? .incremental : literals
                default: .incremental
                }
            if value == WireClient.notText {
                block.append("apns-collapse-id", [0xff, 0xfe].span, form)
            } else {
                block.append(name: name, value: value, form)
            }
        }
        return block
    }

    func send(
        _ headers: [(String, String)],
        body: String,
        promise: EventLoopPromise<WireClient.Answer>,
    ) -> EventLoopFuture<WireClient.Answer> {
        let block = block(headers)
        do {
            guard let session else { throw HTTP2Error(.notActive) }
            let stream = try session.request(block, body: ByteBuffer(string: body))
            answers[stream] = (WireClient.Answer(), promise)
        } catch {
            promise.fail(error)
        }
        return promise.futureResult
    }

    func begin(
        _ headers: [(String, String)],
        endStream: Bool = false,
        promise: EventLoopPromise<WireClient.Answer>,
    ) throws -> (StreamID, EventLoopFuture<WireClient.Answer>) {
        let block = block(headers)
        do {
            guard let session else { throw HTTP2Error(.notActive) }
            let stream = try session.request(block, endStream: endStream)
            answers[stream] = (WireClient.Answer(), promise)
            // The answer may end before its first line is asked for.
            lines[stream] = Lines()
            return (stream, promise.futureResult)
        } catch {
            promise.fail(error)
            throw error
        }
    }

    func write(_ stream: StreamID, _ bytes: [UInt8]) { session?.write(stream, ByteBuffer(bytes: bytes)) }

    func nextLine(_ stream: StreamID, _ promise: EventLoopPromise<String?>) -> EventLoopFuture<String?> {
        lines[stream, default: Lines()].waiting.append(promise)
        serveLines(stream)
        return promise.futureResult
    }

    /// Passes lines to those who wait for them; nil after the answer has ended.
    private func serveLines(_ stream: StreamID) {
        guard var served = lines[stream] else { return }
        let isOpen = answers[stream] != nil
        while let promise = served.waiting.first {
            let text = answers[stream]?.answer.body ?? served.last
            let rest = text.dropFirst(served.taken)
            if let end = rest.firstIndex(of: "\n") {
                promise.succeed(String(rest[..<end]))
                served.taken += rest.distance(from: rest.startIndex, to: end) + 1
            } else if !isOpen {
                promise.succeed(nil)
            } else {
                break
            }
            served.waiting.removeFirst()
        }
        lines[stream] = served
    }

    func finish(_ stream: StreamID, body: String) {
        session?.write(stream, ByteBuffer(string: body))
        session?.finish(stream)
    }

    func openAndReset(_ headers: [(String, String)]) -> Bool {
        let block = block(headers)
        guard let session, let stream = try? session.request(block, endStream: false) else { return false }
        session.flush()
        session.reset(stream, .cancel)
        session.flush()
        return true
    }

    func whenAnnounced(_ streams: Int, _ promise: EventLoopPromise<Void>) -> EventLoopFuture<Void> {
        if announcements.last == streams { promise.succeed() } else { waiting.append((streams, promise)) }
        return promise.futureResult
    }

    func ping(_ promise: EventLoopPromise<Void>) -> EventLoopFuture<Void> {
        if let session {
            pinging.append(promise)
            session.ping(0)
        } else {
            promise.fail(ChannelError.ioOnClosedChannel)
        }
        return promise.futureResult
    }

    func pingAcknowledged(_ payload: UInt64) {
        if !pinging.isEmpty { pinging.removeFirst().succeed() }
    }

    func whenGoneAway(_ promise: EventLoopPromise<Void>) -> EventLoopFuture<Void> {
        if goAways.isEmpty { leaving.append(promise) } else { promise.succeed() }
        return promise.futureResult
    }

    func sessionBecameActive(_ session: HTTP2Session) {
        self.session = session
        burstAnswers = burst.map { headers in
            send(
                headers, body: #"{"aps":{"alert":"Hello"}}"#, promise: eventLoop.makePromise(of: WireClient.Answer.self)
            )
        }
    }

    func fieldsReceived(_ stream: StreamID, _ fields: FieldList, endStream: Bool) {
        fields.forEach { name, value, _ in read(stream, name: name, value: value) }
    }

    private func read(_ stream: StreamID, name: Span<UInt8>, value: Span<UInt8>) {
        let name = name.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        let value = value.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        answers[stream]?.answer.headers[name, default: []].append(value)
        if name == ":status" { answers[stream]?.answer.status = Int(value) ?? 0 }
    }

    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        answers[stream]?.answer.body += bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        serveLines(stream)
    }

    func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) {
        guard var pending = answers.removeValue(forKey: stream) else { return }
        pending.answer.error = error
        lines[stream]?.last = pending.answer.body
        serveLines(stream)
        pending.promise.succeed(pending.answer)
    }

    func settingsReceived(_ settings: PeerSettings) {
        guard let streams = settings.maxConcurrentStreams else { return }
        announcements.append(streams)
        waiting.removeAll { waiting in
            if waiting.streams == streams { waiting.promise.succeed() }
            return waiting.streams == streams
        }
    }

    func goAwayReceived(lastStream: StreamID, error: HTTP2ErrorCode, debugData: Span<UInt8>) {
        let text = debugData.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        goAways.append(WireClient.GoAway(lastStream: lastStream.rawValue, debugData: text))
        for promise in leaving { promise.succeed() }
        leaving = []
    }

    func sessionClosed(_ end: SessionEnd) {
        session = nil
        for waiting in waiting { waiting.promise.fail(ChannelError.ioOnClosedChannel) }
        waiting = []
        for promise in leaving { promise.fail(ChannelError.ioOnClosedChannel) }
        leaving = []
        for promise in pinging { promise.fail(ChannelError.ioOnClosedChannel) }
        pinging = []
    }
}
