import APNSProvider
import Matching

/// What goes wrong, and for which requests.
public struct RehearsalRule: Sendable, Encodable {
    /// What happens to a request.
    public struct Fault: Sendable, Encodable {
        let value: [String: JSONValue]

        public func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }

        /// The service refuses with a reason; nothing is delivered.
        /// - Parameter retryAfter: in seconds: the header `retry-after`.
        public static func answer(reason: String, retryAfter: Int? = nil) -> Fault {
            var answer: [String: JSONValue] = ["reason": .string(reason)]
            if let retryAfter { answer["retryAfter"] = .integer(retryAfter) }
            return Fault(value: ["answer": .dictionary(answer)])
        }

        /// The service ends the connection once `after` more of its requests are answered.
        public static func goAway(reason: String = "Shutdown", after: Int = 0) -> Fault {
            Fault(value: ["goAway": ["reason": .string(reason), "after": .integer(after)]])
        }

        /// The service resets the stream.
        public static func reset(_ error: String = "REFUSED_STREAM") -> Fault {
            Fault(value: ["reset": .string(error)])
        }

        /// The service closes the connection, with or without a TCP reset.
        public static func close(reset: Bool = false) -> Fault { Fault(value: ["close": reset ? "rst" : "fin"]) }

        /// No answer ever comes.
        public static let hang = Fault(value: ["hang": true])

        /// The answer comes late, and otherwise as usual.
        public static func delay(_ time: Duration) -> Fault { Fault(value: ["delay": .string(time.iso8601)]) }

        /// The answer is 200, and the notification is never delivered.
        public static let lose = Fault(value: ["lose": true])

        /// It is delivered so many times in all.
        public static func duplicate(_ times: Int) -> Fault { Fault(value: ["duplicate": .integer(times)]) }

        /// The connection may have so many streams from now on.
        public static func maximumConcurrentStreams(_ streams: Int) -> Fault {
            Fault(value: ["settings": ["maxConcurrentStreams": .integer(streams)]])
        }
    }

    /// For which of the requests that match.
    public struct Condition: Sendable, Encodable {
        let value: [String: JSONValue]

        public func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }

        /// A share of them, from 0 to 1.
        public static func share(_ share: Double) -> Condition { Condition(value: ["share": .number(share)]) }
        /// The first ones.
        public static func first(_ count: Int) -> Condition { Condition(value: ["first": .integer(count)]) }
        /// Each one whose number can be divided by this.
        public static func every(_ count: Int) -> Condition { Condition(value: ["every": .integer(count)]) }
        /// All after the first ones.
        public static func after(_ count: Int) -> Condition { Condition(value: ["after": .integer(count)]) }
    }

    public var name: String?
    public var match: RequestPattern
    /// Nil for all.
    public var when: Condition?
    public var fault: Fault

    public init(
        _ fault: Fault,
        when condition: Condition? = nil,
        for pattern: RequestPattern = RequestPattern(),
        name: String? = nil,
    ) {
        self.fault = fault
        self.when = condition
        self.match = pattern
        self.name = name
    }
}
