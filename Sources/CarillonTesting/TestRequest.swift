public import APNSProvider

/// A provider's request as the service saw it.
public struct TestRequest: Sendable, Decodable {
    /// Counts the requests of the service.
    public let number: Int
    /// In milliseconds since 1970.
    public let time: Int64
    /// Which connection it came on.
    public let connection: String
    /// Names in lower case; `authorization` has no signature.
    public let headers: [String: String]?
    /// The device token, hexadecimal.
    public let token: String?
    public let device: String?
    public let topic: String?
    public let payload: JSONValue?
    /// The status of the answer; nil if it had none.
    public let status: Int?
    /// The reason of the answer.
    public let reason: String?
    public let apnsID: String?
    public let outcome: RequestPattern.Outcome?
    /// The rule of a rehearsal that fired, by its name.
    public let rule: String?
}
