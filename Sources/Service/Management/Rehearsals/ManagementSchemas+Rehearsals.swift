import HTTPAPI
import Matching
import Notifications
import Rehearsals

/// The document of a rehearsal, as `/openapi.json` describes it. `Rehearsal` reads it, checks it and gives a pointer to a
/// fault, and it alone knows what the words of a schema cannot say.
extension ManagementSchemas {
    private static let text = Schema.string(.any)
    private static let duration = Schema.string(TextFormat("a duration such as PT1.5S", pattern: "^P") { _ in true })
    private static let count = Schema.integer(1...RehearsalLimits.count)

    private static func choice<Value: RawRepresentable<String> & CaseIterable>(_ type: Value.Type) -> Schema {
        .string(.oneOf(type.allCases.map(\.rawValue)))
    }

    static let newRehearsal = Schema.named(
        "NewRehearsal",
        .object([
            .optional("seed", .integer(Int64.min...Int64.max), "The same seed lets the same requests fail."),
            .optional("ttl", duration, "How long the rehearsal is active; PT1H if it is not given."),
            .required(
                "rules", .array(.named("NewRehearsalRule", rule), count: 1...RehearsalLimits.rules),
                "The first one that fires for a request wins."),
        ]))

    private static let rule = Schema.object([
        .optional("name", text, "For the journal and the counts; rule N if it is not given."),
        .optional(
            "match", .openObject, "Which requests: the keys of GET /v1/requests; all requests if it is not given."),
        .optional("when", .named("RehearsalCondition", condition), "Each time if it is not given."),
        .required("fault", .named("RehearsalFault", fault)),
    ])

    /// Exactly one of these.
    private static let condition = Schema.object([
        .optional("share", .any, "A number from 0 to 1: for this share of the matching requests."),
        .optional("first", count, "For the first so many."),
        .optional("every", count, "For each so many-th."),
        .optional("after", count, "After so many."),
        .optional("between", .array(duration, count: 2...2), "Between two times after the rehearsal's beginning."),
    ])

    private static let fault = Schema.object(
        FaultName.allCases.map {
            Schema.Member.optional($0.rawValue, schema(of: $0), description(of: $0))
        }
            + [.optional("accepted", .boolean, "true: the fault comes after the notification was accepted.")])

    /// The packages for test suites add their team to the match of a rule, unless its fault is about connections. Their tests look for
    /// these words.
    private static func description(of fault: FaultName) -> String {
        let text = "A fault has exactly one of these keys."
        guard let keys = fault.connectionKeys else { return text }
        return
            "\(text) This one is about new connections: the match may only have \(keys.map(\.rawValue).joined(separator: ", "))."
    }

    private static func schema(of fault: FaultName) -> Schema {
        switch fault {
        case .refuse, .hang, .lose: .boolean
        // A duration, or an object with two.
        case .delay: .any
        case .answer:
            .object([
                .required("reason", .string(.oneOf(Rejection.Reason.allCases.map(\.rawValue)))),
                .optional("timestamp", .integer(0...Int64.max)), .optional("retryAfter", .integer(0...86_400)),
            ])
        case .goAway:
            .object([
                .optional("reason", .string(.oneOf(Rejection.Reason.allCases.map(\.rawValue)))),
                .optional("after", .integer(0...RehearsalLimits.count)),
            ])
        // The name of an error code of HTTP/2.
        case .reset: text
        case .close: choice(RequestFault.CloseKind.self)
        case .duplicate: .integer(2...Int64(RehearsalLimits.duplicates))
        case .settings:
            .object([.required("maxConcurrentStreams", .integer(1...RehearsalLimits.concurrentStreams))])
        case .omit: choice(RequestFault.OmittedHeader.self)
        case .errorPacket: .object([.required("status", .integer(0...255))])
        case .certificate: choice(HandshakeFault.Certificate.self)
        case .tls: .object([.required("versions", .array(choice(HandshakeFault.Version.self), count: 1...2))])
        case .handshake: choice(HandshakeFault.Disturbance.self)
        }
    }
}
