/// Something that a client did although the Guide or Apple's documentation advises against it. docs/testing.md lists
/// the identifiers.
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
    /// The requests that show the finding, by their numbers in the journal.
    public let requests: [Int]

    public var description: String { "\(severity.rawValue): \(text) \(advice) (Guide, \(section))" }
}
