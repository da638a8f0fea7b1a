package import Notifications

/// The contents of a provider certificate (Guide, 2.3.2).
package struct ProviderIdentity: Sendable, Hashable {
    /// The subject's UID: the bundle ID, and the topic of the binary API and of feedback.
    package let uid: String
    /// The topics of its extension; empty if it has no such extension.
    package let topics: [CertificateTopic]
    package let environments: Set<Environment>
    package let serial: CertificateSerial
    /// Seconds since 1970.
    package let validUntil: Double
    /// The team that a certificate of another authority counts for (`carillon serve --accept any`); nil if this service
    /// has issued the certificate.
    package var foreignTeam: TeamID?

    /// The topic of a request without one: the certificate's only topic (Guide, Table 8-2); nil if it has several.
    package var defaultTopic: String? {
        switch topics.count {
        case 0: uid
        case 1: topics[0].topic
        default: nil
        }
    }

    /// Whether its holder may send to a topic: one that the certificate lists, or one that goes with it.
    package func allows(_ topic: String) -> Bool {
        guard !topics.isEmpty else { return uid.isSame(as: topic) }
        return topics.contains { listed in
            listed.topic.isSame(as: topic)
                || TopicKind.allCases.contains { kind in
                    guard let entry = kind.certificateEntry, entry.name == listed.kind,
                        listed.topic.hasSuffix(entry.listed.suffix)
                    else { return false }
                    return (listed.topic.dropLast(entry.listed.suffix.count) + kind.suffix).isSame(as: topic)
                }
        }
    }

    /// Checks what may change while a connection lives, at each use: the certificate may be revoked or expire.
    ///
    /// - Parameters:
    ///   - isTrusted: whether the current accounts trust it.
    ///   - now: seconds since 1970.
    /// - Throws: BadCertificate, then BadCertificateEnvironment (Guide, Table 8-6).
    package func check(environment: Environment, isTrusted: Bool, now: Double) throws(Rejection) {
        guard isTrusted else { throw Rejection(.badCertificate, detail: "The provider certificate was revoked.") }
        guard now <= validUntil else {
            throw Rejection(.badCertificate, detail: "The provider certificate has expired.")
        }
        guard environments.contains(environment) else {
            let detail = "The provider certificate is not for the \(environment.rawValue) environment."
            throw Rejection(.badCertificateEnvironment, detail: detail)
        }
    }
}
