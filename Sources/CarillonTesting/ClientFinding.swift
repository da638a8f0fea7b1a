/// Something that a client did although the Guide or Apple's documentation advises against it. The identifiers are
/// listed in docs/testing.md.
public struct ClientFinding: Sendable, Decodable, CustomStringConvertible {
    /// How serious the finding is.
    public enum Severity: String, Sendable, Decodable {
        case error, warning, note
    }

    /// The kind of finding, for example `provider-token-churn`.
    public let id: String
    public let severity: Severity
    /// The section of the Guide that gives the advice, for example `2.3.1`.
    public let section: String
    public let text: String
    /// What to change in the client.
    public let advice: String
    /// The journal's numbers of the requests that show it.
    public let requests: [Int]

    public var description: String { "\(severity.rawValue): \(text) \(advice) (Guide, \(section))" }
}
