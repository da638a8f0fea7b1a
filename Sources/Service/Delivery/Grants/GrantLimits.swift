package import Notifications
package import Rates

/// What the registration of a handle needs beside the client key.
package enum GrantRegistration: String, Sendable, Hashable, Codable, CaseIterable {
    /// Nothing.
    case open
    /// A code of the instance, which counts once: `RegistrationCode`.
    case code
}

/// The limits of a grant, and what they allow. A value that decides; it knows neither clocks nor stores.
///
/// It is stored as JSON. A limit that a node does not know would be ignored there: upgrade all nodes before a new one is
/// used.
package struct GrantLimits: Sendable, Hashable, Codable {
    /// The topics that it may send to; nil for all of its app.
    package var topics: [String]?
    /// The push types that it may send; nil for all.
    package var pushTypes: [String]?
    /// The priorities that it may use; nil for all.
    package var priorities: [UInt8]?
    /// How many notifications it may send each second; nil for any number.
    package var rate: Int?
    /// How many it may send at once; nil for as many as in a second.
    package var burst: Int?
    /// How many it may send on one day (UTC); nil for any number.
    package var daily: Int?
    /// The largest payload in bytes; nil for the largest that its topic allows.
    package var payloadBytes: Int?
    /// The time from which it is no longer valid, in milliseconds since 1970; nil for none.
    package var expires: UInt64?
    /// Whether the payloads must be encrypted: see ``EncryptedPayload``.
    package var encryptedOnly = false
    /// What the registration of a handle needs beside the client key; nil for ``GrantRegistration/open``.
    package var registration: GrantRegistration?
    /// What encrypted payloads may have beside `aps`; nil for ``EncryptedForm/any``. A node of the release before ignores it,
    /// and refuses more.
    package var encryptedForm: EncryptedForm?
    /// How many handles it may have; nil for ``GrantLimits/usualHandles``.
    package var handles: Int?

    /// Whether the grant is for the endpoints of Web Push alone: see ``Grant/isForWebPush``. Nil if it is not.
    package var webPush: Bool?

    /// The largest number of handles of a grant whose limits name none: more users than nearly all instances have. A
    /// stolen client key cannot fill the store with it.
    package static let usualHandles = 100_000
    /// The largest rate that a grant can have. No connection to APNs carries more.
    package static let maximumRate = 100_000
    /// The largest daily number and the largest number of handles that a grant can have.
    package static let maximumCount = 1_000_000_000
    /// The largest number of topics that a grant can be limited to. An app has fewer.
    package static let maximumTopics = 20

    package init() {}

    /// The form of the payloads, if they must be encrypted; otherwise nil.
    package var encrypted: EncryptedForm? { encryptedOnly ? encryptedForm ?? .any : nil }

    /// The largest number of handles.
    package var maximumHandles: Int { handles ?? Self.usualHandles }

    /// The rate with its burst; ``Rate/unlimited`` if it has none.
    package var rateOfSending: Rate {
        guard let rate else { return .unlimited }
        return Rate(burst: max(1, burst ?? rate), perSecond: Double(rate))
    }

    /// Whether the time from which the grant is no longer valid has come.
    func haveExpired(at now: Timestamp) -> Bool { expires.map { now.milliseconds >= $0 } ?? false }

    /// What the limits of headers look at.
    package struct Request: Sendable {
        package var topic: String
        /// Nil if there is none, or if it is not valid.
        package var pushType: PushType?
        /// Nil if it is not valid.
        package var priority: Priority?

        package init(topic: String, pushType: PushType?, priority: Priority?) {
            self.topic = topic
            self.pushType = pushType
            self.priority = priority
        }
    }

    /// Checks what a request's headers say.
    /// - Throws: the first refusal, in the order in which the gateway checks headers. Its detail names the limit.
    package func check(_ request: Request, at now: Timestamp) throws(Rejection) {
        if let expires, haveExpired(at: now) {
            throw Rejection(.invalidProviderToken, detail: "The grant has ended: its limit expires is \(expires).")
        }
        if let topics, !topics.contains(request.topic) {
            throw Rejection(
                .topicDisallowed,
                detail: "The grant's limit topics is \(Self.list(topics)); \(request.topic) is not among them.")
        }
        if let pushTypes {
            guard let type = request.pushType else {
                throw Rejection(
                    .invalidPushType,
                    detail: "The grant's limit pushTypes is \(Self.list(pushTypes)), so apns-push-type is required.")
            }
            guard pushTypes.contains(type.rawValue) else {
                throw Rejection(
                    .invalidPushType,
                    detail:
                        "The grant's limit pushTypes is \(Self.list(pushTypes)); \(type.rawValue) is not among them.")
            }
        }
        if let priorities, !(request.priority.map { priorities.contains($0.rawValue) } ?? false) {
            let (allowed, value) = (Self.list(priorities.map { "\($0)" }), request.priority.map { "\($0.rawValue)" })
            throw Rejection(
                .badPriority,
                detail: "The grant's limit priorities is \(allowed); \(value ?? "apns-priority") is not among them.")
        }
    }

    /// Checks the value of a header that says nothing to this service and is forwarded as it came.
    /// - Throws: the refusal, with the reason that the header has.
    package func check(header name: String, _ value: String, _ reason: Rejection.Reason) throws(Rejection) {
        guard encrypted != nil, let fault = EncryptedPayload.fault(inHeader: name, value) else { return }
        throw Rejection(reason, detail: "The grant's limit encryptedOnly refuses a header: \(fault)")
    }

    /// Checks a payload.
    /// - Parameter payload: a JSON dictionary, or anything else if the upstream compares its answers.
    package func check(payload: [UInt8]) throws(Rejection) {
        if let payloadBytes, payload.count > payloadBytes {
            throw Rejection(
                .payloadTooLarge,
                detail: "The payload is \(payload.count) bytes; the grant's limit payloadBytes is \(payloadBytes).")
        }
        if let encrypted, let fault = EncryptedPayload.fault(in: payload, encrypted) {
            throw Rejection(.payloadEmpty, detail: "The grant's limit encryptedOnly refuses the payload: \(fault)")
        }
    }

    private static func list(_ texts: [String]) -> String { texts.joined(separator: ", ") }
}
