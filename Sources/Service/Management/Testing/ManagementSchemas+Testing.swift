import HTTPAPI

// The schemas of answers that have no form: they are written as text.
extension ManagementSchemas {
    private static let text = Schema.string(.any)
    private static let moment = Schema.integer(0...Int64.max)

    private static func named(_ name: String, _ members: [Schema.Member]) -> Schema { .named(name, .object(members)) }

    /// A request of the journal, as `JournalEntry` writes it.
    static let request = named(
        "RecordedRequest",
        [
            .required("number", moment, "Its number; the first one has 1."),
            .required("time", moment, "When it came, in milliseconds since 1970."),
            .required("connection", text), .required("environment", text), .required("protocol", text),
            .optional("serverName", text), .optional("client", text), .optional("alert", text),
            .optional("cause", text),
            .optional("team", text), .optional("keyID", text), .optional("certificate", text),
            .optional("unverified", .boolean), .optional("headers", .openObject), .optional("token", text),
            .optional("device", text), .optional("activityToken", text), .optional("topic", text),
            .optional("channel", text), .optional("subscription", text, "The Web Push subscription."),
            .optional("bytes", moment, "The size of a message of Web Push."),
            .optional("text", text, "What it says, if the subscription is a virtual device's."),
            .optional("payload", .openObject, "If the body is a JSON object."),
            .optional("body", text, "If it is not."), .optional("bodyBytes", moment),
            .optional("status", .integer(0...599)), .optional("reason", text), .optional("apnsID", text),
            .optional("outcome", text), .optional("rule", text, "The rule of a rehearsal that fired."),
            .optional("forwarded", .boolean), .optional("own", text), .optional("captured", .boolean),
        ])

    static let waited = named("Waited", [.required("requests", .array(request))])
    static let waitedInVain = named(
        "WaitedInVain",
        [
            .required("matched", moment, "How many requests match."),
            .required(
                "nearest",
                .array(
                    named(
                        "NearMiss",
                        [
                            .required("request", request),
                            .required("differs", .array(text), "The keys of the match that differ."),
                        ])), "The requests that differ least."),
            .required(
                "failed", .array(.openObject),
                "The newest connections that failed before a request, and not by a rehearsal; the newest first."),
            .optional(
                "dropped", moment,
                "The number of the newest request for which the journal had no room any more; 0 if none."),
        ])

    static let completedFixture = named(
        "CompletedFixture",
        [
            .required("teams", .array(.openObject), "With every identifier, key, certificate and token."),
            .required("service", .openObject, "The addresses, the authority in PEM, and the journal's state."),
        ])
}

/// The file format in which a certificate is handed out.
enum CertificateFormat: String, CaseIterable {
    case pem
    /// PKCS#12 (RFC 7292), as many client libraries want it.
    case p12
}

/// The limits of one fixture, each higher than a test suite needs.
package enum FixtureLimits {
    package static let teams = 100
    package static let apps = 100
    package static let keys = 100
    /// The certificate authority has to sign each of them, which takes time.
    package static let certificates = 100
    /// On one device. Each is a row of the store.
    package static let subscriptions = 500
}
