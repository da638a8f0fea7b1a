import HTTPAPI

// The schemas of answers that have no form: they are written as text.
extension ManagementSchemas {
    private static let text = Schema.string(.any)
    private static let moment = Schema.integer(0...Int64.max)

    private static func named(_ name: String, _ members: [Schema.Member]) -> Schema { .named(name, .object(members)) }

    static let waited = named("Waited", [.required("requests", .array(.openObject))])
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
                            .required("request", .openObject),
                            .required("differs", .array(text), "The keys of the match that differ."),
                        ])), "The requests that differ least."),
            .required(
                "failed", .array(.openObject),
                "The newest connections that failed before a request, and not by a rehearsal; the newest first."),
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
}
