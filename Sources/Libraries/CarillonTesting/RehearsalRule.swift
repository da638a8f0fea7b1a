import APNSProvider
import Matching
import Notifications

/// A rule of a rehearsal: it selects requests, and says which fault happens to them.
public struct RehearsalRule: Sendable, Encodable {
    /// The fault that happens to a request.
    public struct Fault: Sendable, Encodable {
        let value: [String: JSONValue]
        /// Whether the fault is about connections, which have no team yet.
        let isAboutConnections: Bool

        private init(_ name: FaultName, _ value: JSONValue) {
            self.value = [name.rawValue: value]
            isAboutConnections = name.connectionKeys != nil
        }

        public func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }

        /// The service answers with this reason and delivers nothing.
        /// - Parameters:
        ///   - reason: a reason of Apple's table, such as `ServiceUnavailable`. It decides the status.
        ///   - retryAfter: the value of the header `retry-after`, in seconds; nil for no header.
        public static func answer(reason: String, retryAfter: Int? = nil) -> Fault {
            var answer: [String: JSONValue] = ["reason": .string(reason)]
            if let retryAfter { answer["retryAfter"] = .integer(retryAfter) }
            return Fault(.answer, .object(answer))
        }

        /// The service ends the connection after it has answered `after` further requests.
        public static func goAway(reason: String = "Shutdown", after: Int = 0) -> Fault {
            Fault(.goAway, ["reason": .string(reason), "after": .integer(after)])
        }

        /// The service resets the request's stream.
        public static func reset(_ error: String = "REFUSED_STREAM") -> Fault {
            Fault(.reset, .string(error))
        }

        /// The service closes the connection.
        /// - Parameter reset: whether the peer sees a TCP reset instead of an orderly end.
        public static func close(reset: Bool = false) -> Fault { Fault(.close, reset ? "rst" : "fin") }

        /// The request never gets an answer.
        public static let hang = Fault(.hang, true)

        /// The usual answer, but late.
        public static func delay(_ time: Duration) -> Fault { Fault(.delay, .string(time.iso8601)) }

        /// The answer is 200, and the notification is never delivered.
        public static let lose = Fault(.lose, true)

        /// The notification is delivered this many times in total.
        public static func duplicate(_ times: Int) -> Fault { Fault(.duplicate, .integer(times)) }

        /// From now on, the connection may have only this many streams at the same time.
        public static func maximumConcurrentStreams(_ streams: Int) -> Fault {
            Fault(.settings, ["maxConcurrentStreams": .integer(streams)])
        }

        /// The answer has no `apns-unique-id`, like the answers of the production environment.
        public static let withoutUniqueID = Fault(.omit, .string(RequestFault.OmittedHeader.uniqueID.rawValue))

        /// New connections get another certificate than the service's own.
        public static func certificate(_ certificate: Certificate) -> Fault {
            Fault(.certificate, .string(certificate.rawValue))
        }

        /// New connections get only these versions of TLS: `1.2`, `1.3`.
        public static func tls(versions: [String]) -> Fault {
            Fault(.tls, ["versions": .array(versions.map { .string($0) })])
        }

        /// Something goes wrong in the TLS handshake of new connections.
        public static func handshake(_ trouble: Handshake) -> Fault { Fault(.handshake, .string(trouble.rawValue)) }
    }

    /// A certificate that a client gets in a rehearsal.
    public enum Certificate: String, Sendable, Hashable, CaseIterable {
        /// Its chain leads to ``TestAPNs/otherAuthorityPEM()``, which a client trusts only if it was told to.
        case otherAuthority = "other-authority"
        case expired
        case notYetValid = "not-yet-valid"
        case wrongName = "wrong-name"
        /// The chain lacks the intermediate certificate.
        case incompleteChain = "incomplete-chain"
        /// The chain leads to ``TestAPNs/authorityPEM`` and to ``TestAPNs/otherAuthorityPEM()``.
        case crossSigned = "cross-signed"
    }

    /// What goes wrong in a TLS handshake.
    public enum Handshake: String, Sendable, Hashable, CaseIterable {
        /// The service answers three seconds late.
        case slow
        /// The service answers with a TCP reset.
        case reset
        /// The service does not answer.
        case hang
    }

    /// Selects some of the matching requests.
    public struct Selection: Sendable, Encodable {
        let value: [String: JSONValue]

        public func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }

        /// A share of the matching requests, from 0 to 1. They are chosen at random, by the rehearsal's seed.
        public static func share(_ share: Double) -> Selection { Selection(value: ["share": .number(share)]) }
        /// The first `count` matching requests.
        public static func first(_ count: Int) -> Selection { Selection(value: ["first": .integer(count)]) }
        /// Every `count`-th matching request.
        public static func every(_ count: Int) -> Selection { Selection(value: ["every": .integer(count)]) }
        /// The matching requests or connections in a time, counted from the rehearsal's beginning by the machine's clock.
        public static func between(_ start: Duration, _ end: Duration) -> Selection {
            Selection(value: ["between": [.string(start.iso8601), .string(end.iso8601)]])
        }
        /// All matching requests after the first `count`.
        public static func after(_ count: Int) -> Selection { Selection(value: ["after": .integer(count)]) }
    }

    /// The name of ``Selection`` until version 0.2.
    @available(*, deprecated, renamed: "Selection")
    public typealias Condition = Selection

    public var name: String?
    public var match: RequestPattern
    /// Selects the matching requests for which the rule fires; nil selects all of them.
    public var when: Selection?
    public var fault: Fault

    public init(
        _ fault: Fault,
        when selection: Selection? = nil,
        for pattern: RequestPattern = RequestPattern(),
        name: String? = nil,
    ) {
        self.fault = fault
        self.when = selection
        self.match = pattern
        self.name = name
    }
}
