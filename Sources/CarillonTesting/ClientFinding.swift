/// Something that a client did and the documents advise against.
public struct ClientFinding: Sendable, Decodable, CustomStringConvertible {
    /// How grave it is.
    public enum Severity: String, Sendable, Decodable {
        case error, warning, note
    }

    /// What it is, as `provider-token-churn`.
    public let id: String
    public let severity: Severity
    /// The section of the Guide.
    public let section: String
    public let text: String
    /// What to change.
    public let advice: String
    /// The numbers of the requests that show it.
    public let requests: [Int]

    public var description: String { "\(severity.rawValue): \(text) \(advice) (Guide, \(section))" }
}
