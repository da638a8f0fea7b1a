import HTTP2
import Matching
import Notifications

/// One request over HTTP/2, with the parts of it that are kept only for the observer: its headers, and the beginning of its
/// body.
final class Scene: RequestScene {
    let stream: StreamID
    /// Nil when the connection has ended.
    private weak var stage: HTTP2Stage?
    private let observation: RequestObservation
    /// The request's number; nil until the API has decided and the observer was told.
    var number: UInt64?
    private var headers: [RequestFacts.Header] = []
    var practices: Set<RequestFacts.Practice>
    private var body: [UInt8] = []
    /// How many bytes of the body have arrived at least.
    var received = 0
    /// What a rehearsal does to the answer; nil if nothing.
    var fault: RequestFault?
    private(set) var isAnswered = false
    /// Whether the API has accepted what a rehearsal answers.
    private var wasAccepted = false
    /// Whether the stream has ended.
    var isClosed = false

    /// The most bytes of a body that are kept here: as many as the largest payload has.
    private static let maximumBodyBytes = Payload.maximumVoIPBytes

    /// - Parameter fields: all that have come. The HTTP/2 session limits their total size.
    init(
        _ stream: StreamID,
        _ fields: FieldList,
        on stage: HTTP2Stage,
        _ practices: Set<RequestFacts.Practice>,
    ) {
        self.stream = stream
        self.stage = stage
        observation = stage.setting.observation
        self.practices = practices
        fields.forEach { name, value, form in
            let (text, isSecret) = (value.text, name.isEqual(to: "authorization"))
            headers.append(
                isSecret ? RequestFacts.Header(authorization: text) : RequestFacts.Header(name: name.text, value: text))
            // The Guide's rules for the table of headers (2.3.4.1).
            if form == .incremental, isSecret || name.isEqual(to: ":path") { self.practices.insert(.filledTable) }
        }
    }

    /// The connection's number for the request.
    var ticket: UInt64 { UInt64(clamping: stream.rawValue) }

    // MARK: What has come

    func append(_ bytes: Span<UInt8>) {
        received += bytes.count
        let room = Self.maximumBodyBytes - body.count
        if room > 0 { body.append(bytes.extracting(first: min(bytes.count, room))) }
    }

    // MARK: The questions

    func performance(of facts: RequestFacts) -> Performance {
        guard number == nil, let stage else { return Performance() }
        let performance = stage.show(facts, of: self).map { stage.perform($0, in: self) } ?? Performance()
        if performance.times > 0 { stage.carriedOut(facts, of: self) }
        return performance
    }

    func mayAnswer(_ answer: RequestAnswer, later: @escaping () -> Void) -> Bool {
        // The journal has the outcome before the answer, also if the client does not wait for the answer.
        if let number, let outcome = answer.outcome { observation.observer.ended(number, as: outcome) }
        guard !isAnswered, !isClosed, let stage else { return false }
        if let fault {
            self.fault = nil
            wasAccepted = answer.isSuccess
            stage.perform(fault, in: self, later)
            return false
        }
        isAnswered = true
        var answer = answer
        answer.hidesAcceptance = wasAccepted && !answer.isSuccess
        stage.report(answer, of: self)
        stage.countAnswer(of: stream)
        return true
    }

    // MARK: What the observer gets

    /// Adds what the API does not know of the request.
    func complete(_ facts: inout RequestFacts) {
        facts.headers = headers
        facts.practices = practices
        // What is written in the place of a value that the API could not read.
        let path = value(":path")
        facts.token = path.flatMap(Self.token(inPath:))
        facts.topic = facts.topic ?? value("apns-topic")
        facts.pushType = facts.pushType ?? value("apns-push-type")
        facts.collapseID = facts.collapseID ?? value("apns-collapse-id")
        if path.map({ Self.token(inPath: $0) == nil }) ?? false {
            facts.channel = facts.channel ?? value("apns-channel-id")
        }
        guard facts.reason != nil else { return }
        if facts.reason == Rejection.Reason.payloadTooLarge.rawValue, !facts.isForwarded {
            let kind = facts.topic.map { TopicKind.ofUnknown(topic: $0) } ?? .app
            facts.body = facts.token == nil ? body : Array(body.prefix(kind.maximumPayloadBytes))
        } else if facts.body.isEmpty {
            facts.body = body
        }
        if received > facts.body.count {
            let announced = value("content-length").flatMap { Int($0, radix: 10) }
            facts.bodyBytes = max(received, announced ?? 0)
        }
    }

    /// The value of the first header with this name.
    private func value(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    /// The text in the place of the device token, in lower case; nil if the path is not a device's.
    static func token(inPath path: String) -> String? {
        let prefix = "/3/device/"
        guard path.hasPrefix(prefix), path.utf8.count > prefix.utf8.count else { return nil }
        return path.dropFirst(prefix.count).lowercased()
    }
}
