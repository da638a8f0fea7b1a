import Matching

/// Something that a client does although the Guide or Apple's present advice speaks against it.
package struct Finding: Sendable, Hashable {
    /// The kind of finding, for example `provider-token-churn`.
    package var id: String
    package var severity: Severity
    /// The section of the Guide; docs/guide.md lists the numbers.
    package var section: String
    /// What the client did.
    package var text: String
    /// What to change.
    package var advice: String
    /// The requests that show the finding, by their numbers in the journal; at most ``maximumEvidence``.
    package var requests: [UInt64]

    package enum Severity: String, Sendable {
        /// APNs refuses such requests, or notifications are lost or repeated.
        case error
        /// APNs may slow the client down or refuse it.
        case warning
        /// This works, but could be better.
        case note
    }

    /// The largest number of requests in a finding. A person looks only at the first ones.
    package static let maximumEvidence = 20

    init(
        _ id: String,
        _ severity: Severity,
        section: String,
        _ text: String,
        advice: String,
        _ requests: some Sequence<RecordedRequest>,
    ) {
        self.init(id, severity, section: section, text, advice: advice, numbers: requests.map(\.facts.number))
    }

    init(_ id: String, _ severity: Severity, section: String, _ text: String, advice: String, numbers: [UInt64]) {
        self.id = id
        self.severity = severity
        self.section = section
        self.text = text
        self.advice = advice
        self.requests = Array(numbers.prefix(Self.maximumEvidence))
    }
}
