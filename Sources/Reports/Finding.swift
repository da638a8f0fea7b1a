import Matching

/// Something that a client does against the Guide or Apple's current advice.
package struct Finding: Sendable, Hashable {
    /// The kind of finding, for example `provider-token-churn`.
    package var id: String
    package var severity: Severity
    /// The section of the Guide; ARCHITECTURE.md lists the numbers.
    package var section: String
    /// What the client did.
    package var text: String
    /// What to change.
    package var advice: String
    /// The journal's numbers of the requests that show it, at most ``maximumEvidence``.
    package var requests: [UInt64]

    package enum Severity: String, Sendable {
        /// APNs refuses this, or notifications are lost or repeated.
        case error
        /// APNs may slow the client down or refuse it.
        case warning
        /// This works, but could be better.
        case note
    }

    /// How many requests a finding names. A person looks at the first ones only.
    package static let maximumEvidence = 20

    init(
        _ id: String,
        _ severity: Severity,
        section: String,
        _ text: String,
        advice: String,
        _ requests: some Sequence<RecordedRequest>,
    ) {
        self.id = id
        self.severity = severity
        self.section = section
        self.text = text
        self.advice = advice
        self.requests = Array(requests.map(\.facts.number).prefix(Self.maximumEvidence))
    }
}
